// CPU kernels of `projected_lstm.py`: what lies between its matrix products. `torch_ops.py` defines
// the same functions in PyTorch.
//
// They take addresses, so that building them needs neither PyTorch's headers nor one build for
// each of its versions. Each kernel is compiled for AVX-512, AVX2 and the baseline of the target;
// the best that the CPU has is chosen when the module is imported. All arithmetic is in float32;
// `Value` is the type of the matrix products, float or bfloat16.

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#define ALWAYS_INLINE __attribute__((always_inline))
#define INLINE inline ALWAYS_INLINE

namespace {

// A vector of `W` values. `Words` holds the same bits as integers without a sign.
template <int64_t W>
struct Vector {
  typedef float Floats __attribute__((vector_size(4 * W)));
  typedef uint32_t Words __attribute__((vector_size(4 * W)));
  typedef uint16_t HalfWords __attribute__((vector_size(2 * W)));
};

struct BFloat16 {
  uint16_t bits;
};

// Reads `count` values, at most `W`. The others are zero.
template <int64_t W>
INLINE typename Vector<W>::Floats load(const float* from, int64_t count) {
  typename Vector<W>::Floats values = {};
  if (count == W) {
    std::memcpy(&values, from, sizeof(values));
  } else {
    for (int64_t lane = 0; lane < count; ++lane) values[lane] = from[lane];
  }
  return values;
}

template <int64_t W>
INLINE typename Vector<W>::Floats load(const BFloat16* from, int64_t count) {
  typename Vector<W>::HalfWords bits = {};
  if (count == W) {
    std::memcpy(&bits, from, sizeof(bits));
  } else {
    for (int64_t lane = 0; lane < count; ++lane) bits[lane] = from[lane].bits;
  }
  using Words = typename Vector<W>::Words;
  return (typename Vector<W>::Floats)(__builtin_convertvector(bits, Words) << 16);
}

template <int64_t W>
INLINE void store(float* to, typename Vector<W>::Floats values, int64_t count) {
  if (count == W) {
    std::memcpy(to, &values, sizeof(values));
  } else {
    for (int64_t lane = 0; lane < count; ++lane) to[lane] = values[lane];
  }
}

template <int64_t W>
INLINE void store(BFloat16* to, typename Vector<W>::Floats values, int64_t count) {
  using Words = typename Vector<W>::Words;
  using HalfWords = typename Vector<W>::HalfWords;
  Words bits = (Words)values;
  // To the nearest, ties to even. Adding could carry a NaN over into another value.
  Words rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  Words is_nan = (Words)(values != values);
  rounded = (is_nan & 0x7fc00000u) | (~is_nan & rounded);
  HalfWords halves = __builtin_convertvector(rounded >> 16, HalfWords);
  if (count == W) {
    std::memcpy(to, &halves, sizeof(halves));
  } else {
    for (int64_t lane = 0; lane < count; ++lane) to[lane].bits = halves[lane];
  }
}

template <class Floats>
INLINE Floats broadcast(float value) {
  return Floats{} + value;
}

template <class Ints, class Floats>
INLINE Floats select(Ints condition, Floats yes, Floats no) {
  return (Floats)((condition & (Ints)yes) | (~condition & (Ints)no));
}

// A NaN stays a NaN.
template <class Floats>
INLINE Floats clip(Floats values, float bound) {
  Floats upper = broadcast<Floats>(bound), lower = broadcast<Floats>(-bound);
  values = select(values > upper, upper, values);
  return select(values < lower, lower, values);
}

template <class Floats>
INLINE Floats absolute(Floats values) {
  using Ints = decltype(values < values);
  return (Floats)((Ints)values & 0x7fffffff);
}

// 2^n e^r with |r| <= log(2) / 2, where e^r is its Taylor polynomial: relative error 2e-7.
template <class Floats>
INLINE Floats exponential(Floats x) {
  using Ints = decltype(x < x);
  x = clip(x, 87.0f);
  // Adding 1.5 * 2^23 rounds to an integer, which the lowest bits then hold.
  Floats shifted = x * 1.44269504f + 12582912.0f;
  Ints n = (Ints)shifted - (Ints)broadcast<Floats>(12582912.0f);
  Floats rounded = shifted - 12582912.0f;
  Floats r = x - rounded * 0.693359375f + rounded * 2.12194440e-4f;
  Floats power = broadcast<Floats>(1.0f / 720);
  power = power * r + 1.0f / 120;
  power = power * r + 1.0f / 24;
  power = power * r + 1.0f / 6;
  power = power * r + 0.5f;
  power = power * r + 1.0f;
  power = power * r + 1.0f;
  return power * (Floats)((n + 127) << 23);
}

template <class Floats>
INLINE Floats sigmoid(Floats x) {
  return 1.0f / (1.0f + exponential(-x));
}

// Near zero, where the other form cancels, the Taylor polynomial of degree 11.
template <class Floats>
INLINE Floats hyperbolic_tangent(Floats x) {
  Floats large = 1.0f - 2.0f / (1.0f + exponential(2.0f * x));
  Floats square = x * x;
  Floats small = broadcast<Floats>(-1382.0f / 155925);
  small = small * square + 62.0f / 2835;
  small = small * square - 17.0f / 315;
  small = small * square + 2.0f / 15;
  small = small * square - 1.0f / 3;
  small = small * square * x + x;
  return select(absolute(x) < broadcast<Floats>(0.3f), small, large);
}

template <int64_t W>
INLINE float sum(typename Vector<W>::Floats values) {
  float total = 0.0f;
  for (int64_t lane = 0; lane < W; ++lane) total += values[lane];
  return total;
}

// Runs `body(offset, count)` for each vector of [begin, end).
template <int64_t W, class Body>
INLINE void for_vectors(int64_t begin, int64_t end, Body body) {
  int64_t offset = begin;
  for (; offset + W <= end; offset += W) body(offset, W);
  if (offset < end) body(offset, end - offset);
}

template <class Value>
struct CellForward {
  Value* gates;
  // Added to the gates, if not null.
  const Value* recurrent_gates;
  const float* bias;
  const float* previous;
  float* cell_state;
  Value* hidden;
  int64_t cells;
  float bound;

  template <int64_t W>
  INLINE void run(int64_t first_row, int64_t last_row) const {
    using Floats = typename Vector<W>::Floats;
    for (int64_t row = first_row; row < last_row; ++row) {
      Value* gate = gates + 4 * row * cells;
      const Value* recurrent = recurrent_gates ? recurrent_gates + 4 * row * cells : nullptr;
      for_vectors<W>(0, cells, [&](int64_t cell, int64_t count) ALWAYS_INLINE {
        auto preactivation = [&](int64_t at) ALWAYS_INLINE {
          Floats total = load<W>(gate + at, count) + load<W>(bias + at, count);
          if (recurrent) total += load<W>(recurrent + at, count);
          return total;
        };
        Floats input = sigmoid(preactivation(cell));
        Floats forget = sigmoid(preactivation(cells + cell));
        Floats candidate = hyperbolic_tangent(preactivation(2 * cells + cell));
        Floats output = sigmoid(preactivation(3 * cells + cell));
        Floats state = input * candidate;
        if (previous) state += forget * clip(load<W>(previous + row * cells + cell, count), bound);
        store<W>(gate + cell, input, count);
        store<W>(gate + cells + cell, forget, count);
        store<W>(gate + 2 * cells + cell, candidate, count);
        store<W>(gate + 3 * cells + cell, output, count);
        store<W>(cell_state + row * cells + cell, state, count);
        store<W>(hidden + row * cells + cell, output * hyperbolic_tangent(clip(state, bound)), count);
      });
    }
  }
};

template <class Value>
struct CellBackward {
  const Value* grad_hidden;
  const Value* gates;
  const float* previous;
  const float* cell_state;
  float* grad_cell_state;
  Value* grad_gates;
  Value* hidden;
  int64_t cells;
  float bound;

  template <int64_t W>
  INLINE void run(int64_t first_row, int64_t last_row) const {
    using Floats = typename Vector<W>::Floats;
    for (int64_t row = first_row; row < last_row; ++row) {
      const Value* gate = gates + 4 * row * cells;
      Value* grad_gate = grad_gates + 4 * row * cells;
      for_vectors<W>(0, cells, [&](int64_t cell, int64_t count) ALWAYS_INLINE {
        int64_t at = row * cells + cell;
        Floats input = load<W>(gate + cell, count);
        Floats forget = load<W>(gate + cells + cell, count);
        Floats candidate = load<W>(gate + 2 * cells + cell, count);
        Floats output = load<W>(gate + 3 * cells + cell, count);
        Floats state = load<W>(cell_state + at, count);
        Floats tangent = hyperbolic_tangent(clip(state, bound));
        store<W>(hidden + at, output * tangent, count);
        Floats grad = load<W>(grad_hidden + at, count);
        Floats grad_output = grad * tangent * output * (1.0f - output);
        grad = grad * output * (1.0f - tangent * tangent) + load<W>(grad_cell_state + at, count);
        grad = select(absolute(state) <= broadcast<Floats>(bound), grad, Floats{});
        Floats grad_forget = {};
        if (previous) {
          grad_forget = grad * clip(load<W>(previous + at, count), bound) * forget * (1.0f - forget);
        }
        store<W>(grad_gate + cell, grad * candidate * input * (1.0f - input), count);
        store<W>(grad_gate + cells + cell, grad_forget, count);
        store<W>(grad_gate + 2 * cells + cell, grad * input * (1.0f - candidate * candidate), count);
        store<W>(grad_gate + 3 * cells + cell, grad_output, count);
        store<W>(grad_cell_state + at, grad * forget, count);
      });
    }
  }
};

// The mean of a clipped row and the reciprocal of its standard deviation.
template <int64_t W, class Value>
INLINE void moments(const Value* row, int64_t size, float bound, float eps, float* mean,
                    float* scale) {
  using Floats = typename Vector<W>::Floats;
  Floats total = {};
  for_vectors<W>(0, size, [&](int64_t at, int64_t count) ALWAYS_INLINE {
    total += clip(load<W>(row + at, count), bound);
  });
  *mean = sum<W>(total) / size;
  Floats squares = {};
  for_vectors<W>(0, size, [&](int64_t at, int64_t count) ALWAYS_INLINE {
    Floats centred = clip(load<W>(row + at, count), bound) - *mean;
    if (count == W) {
      squares += centred * centred;
    } else {
      for (int64_t lane = 0; lane < count; ++lane) squares[lane] += centred[lane] * centred[lane];
    }
  });
  *scale = 1.0f / std::sqrt(sum<W>(squares) / size + eps);
}

template <class Value>
struct StateForward {
  const Value* projected;
  const float* weight;
  const float* bias;
  float* state;
  Value* recurrent;
  int64_t size;
  float eps;
  float bound;

  template <int64_t W>
  INLINE void run(int64_t first_row, int64_t last_row) const {
    using Floats = typename Vector<W>::Floats;
    for (int64_t row = first_row; row < last_row; ++row) {
      const Value* from = projected + row * size;
      float mean = 0.0f, scale = 1.0f;
      if (weight) moments<W>(from, size, bound, eps, &mean, &scale);
      for_vectors<W>(0, size, [&](int64_t at, int64_t count) ALWAYS_INLINE {
        Floats values = clip(load<W>(from + at, count), bound);
        if (weight) {
          values = (values - mean) * scale * load<W>(weight + at, count) + load<W>(bias + at, count);
        }
        store<W>(state + row * size + at, values, count);
        if (recurrent) store<W>(recurrent + row * size + at, values, count);
      });
    }
  }
};

template <class Value>
struct StateBackward {
  // Receives the sum of itself and of `grad_recurrent`, which has fewer rows.
  float* grad_state;
  const Value* grad_recurrent;
  int64_t recurrent_rows;
  const Value* projected;
  const float* weight;
  Value* grad_projected;
  int64_t size;
  float eps;
  float bound;

  template <int64_t W>
  INLINE void run(int64_t first_row, int64_t last_row) const {
    using Floats = typename Vector<W>::Floats;
    for (int64_t row = first_row; row < last_row; ++row) {
      const Value* from = projected + row * size;
      float* grads = grad_state + row * size;
      if (row < recurrent_rows) {
        for_vectors<W>(0, size, [&](int64_t at, int64_t count) ALWAYS_INLINE {
          Floats grad = load<W>(grads + at, count);
          store<W>(grads + at, grad + load<W>(grad_recurrent + row * size + at, count), count);
        });
      }
      float mean = 0.0f, scale = 1.0f, mean_grad = 0.0f, mean_product = 0.0f;
      if (weight) {
        moments<W>(from, size, bound, eps, &mean, &scale);
        Floats total = {}, products = {};
        for_vectors<W>(0, size, [&](int64_t at, int64_t count) ALWAYS_INLINE {
          // A partial vector ends in gradients of zero.
          Floats grad = load<W>(grads + at, count) * load<W>(weight + at, count);
          total += grad;
          products += grad * (clip(load<W>(from + at, count), bound) - mean) * scale;
        });
        mean_grad = sum<W>(total) / size;
        mean_product = sum<W>(products) / size;
      }
      for_vectors<W>(0, size, [&](int64_t at, int64_t count) ALWAYS_INLINE {
        Floats unclipped = load<W>(from + at, count);
        Floats grad = load<W>(grads + at, count);
        if (weight) {
          Floats normalised = (clip(unclipped, bound) - mean) * scale;
          grad = scale * (grad * load<W>(weight + at, count) - mean_grad - normalised * mean_product);
        }
        grad = select(absolute(unclipped) <= broadcast<Floats>(bound), grad, Floats{});
        store<W>(grad_projected + row * size + at, grad, count);
      });
    }
  }
};

// Gradients of the layer norm's weight and bias, added to `grad_weight` and `grad_bias`.
template <class Value>
struct NormBackward {
  const float* grad_state;
  const Value* projected;
  float* grad_weight;
  float* grad_bias;
  int64_t size;
  float eps;
  float bound;

  template <int64_t W>
  INLINE void run(int64_t first_row, int64_t last_row) const {
    using Floats = typename Vector<W>::Floats;
    for (int64_t row = first_row; row < last_row; ++row) {
      const Value* from = projected + row * size;
      const float* grads = grad_state + row * size;
      float mean, scale;
      moments<W>(from, size, bound, eps, &mean, &scale);
      for_vectors<W>(0, size, [&](int64_t at, int64_t count) ALWAYS_INLINE {
        Floats grad = load<W>(grads + at, count);
        Floats normalised = (clip(load<W>(from + at, count), bound) - mean) * scale;
        store<W>(grad_weight + at, load<W>(grad_weight + at, count) + grad * normalised, count);
        store<W>(grad_bias + at, load<W>(grad_bias + at, count) + grad, count);
      });
    }
  }
};

// The sum of all rows, for a range of columns.
template <class Value>
struct SumRows {
  const Value* rows;
  float* total;
  int64_t num_rows;
  int64_t columns;

  template <int64_t W>
  INLINE void run(int64_t first_column, int64_t last_column) const {
    using Floats = typename Vector<W>::Floats;
    for_vectors<W>(first_column, last_column, [&](int64_t at, int64_t count) ALWAYS_INLINE {
      Floats result = {};
      for (int64_t row = 0; row < num_rows; ++row) result += load<W>(rows + row * columns + at, count);
      store<W>(total + at, result, count);
    });
  }
};

// ---- dispatch ----

template <class Kernel>
void run_baseline(const Kernel& kernel, int64_t begin, int64_t end) {
  kernel.template run<4>(begin, end);
}

#if defined(__x86_64__)
template <class Kernel>
__attribute__((target("avx2,fma"))) void run_avx2(const Kernel& kernel, int64_t begin,
                                                  int64_t end) {
  kernel.template run<8>(begin, end);
}

template <class Kernel>
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"))) void run_avx512(
    const Kernel& kernel, int64_t begin, int64_t end) {
  kernel.template run<16>(begin, end);
}
#endif

enum class InstructionSet { kDefault, kAvx2, kAvx512 };

// The best that the CPU has, up to a limit.
InstructionSet choose_instruction_set(const std::string& limit) {
#if defined(__x86_64__)
  if (limit == "avx512" && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return InstructionSet::kAvx512;
  }
  if (limit != "default" && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return InstructionSet::kAvx2;
  }
#endif
  return InstructionSet::kDefault;
}

InstructionSet instruction_set = InstructionSet::kDefault;

template <class Kernel>
void run_range(const Kernel& kernel, int64_t begin, int64_t end) {
#if defined(__x86_64__)
  if (instruction_set == InstructionSet::kAvx512) return run_avx512(kernel, begin, end);
  if (instruction_set == InstructionSet::kAvx2) return run_avx2(kernel, begin, end);
#endif
  run_baseline(kernel, begin, end);
}

// Columns are divided at multiples of a cache line.
constexpr int64_t kAlignment = 64;

// Runs the kernel on [0, size), whose parts start at multiples of `alignment`, in up to
// `num_threads` threads. Starting a thread takes as long as some ten thousand values.
template <class Kernel>
void run(const Kernel& kernel, int64_t size, int64_t alignment, int64_t num_values,
         int64_t num_threads) {
  const int64_t blocks = (size + alignment - 1) / alignment;
  const int64_t parts = std::min({num_threads, blocks, num_values / (1 << 16)});
  if (parts <= 1) return run_range(kernel, 0, size);
  std::vector<std::thread> threads;
  auto bound = [&](int64_t part) { return std::min(size, blocks * part / parts * alignment); };
  try {
    for (int64_t part = 1; part < parts; ++part) {
      threads.emplace_back(run_range<Kernel>, std::cref(kernel), bound(part), bound(part + 1));
    }
  } catch (const std::system_error&) {
    // No more threads: the rest runs here.
  }
  run_range(kernel, 0, bound(1));
  const int64_t started = static_cast<int64_t>(threads.size()) + 1;
  if (started < parts) run_range(kernel, bound(started), size);
  for (std::thread& thread : threads) thread.join();
}

// ---- Python ----

// The arguments of a call: addresses, integers and numbers, in order.
class Arguments {
 public:
  Arguments(PyObject* const* values, Py_ssize_t count) : values_(values), left_(count) {}

  template <class T>
  T* pointer() {
    PyObject* value = next();
    return value ? static_cast<T*>(PyLong_AsVoidPtr(value)) : nullptr;
  }
  int64_t integer() {
    PyObject* value = next();
    return value ? PyLong_AsLongLong(value) : 0;
  }
  float number() {
    PyObject* value = next();
    return value ? static_cast<float>(PyFloat_AsDouble(value)) : 0.0f;
  }
  bool complete() {
    if (left_ && !PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "wrong number of arguments");
    return !PyErr_Occurred();
  }

 private:
  PyObject* next() {
    // `complete` reports a missing argument.
    return left_-- > 0 ? *values_++ : nullptr;
  }

  PyObject* const* values_;
  Py_ssize_t left_;
};

template <class Kernel>
PyObject* call(Arguments& arguments, const Kernel& kernel, int64_t size, int64_t alignment,
               int64_t num_values, int64_t num_threads) {
  if (!arguments.complete()) return nullptr;
  Py_BEGIN_ALLOW_THREADS;
  run(kernel, size, alignment, num_values, num_threads);
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

// Members are initialised in the order of the braces, so they read the arguments in order.
template <class Value>
PyObject* cell_forward(Arguments& a, int64_t rows, int64_t threads) {
  CellForward<Value> kernel{a.pointer<Value>(), a.pointer<Value>(), a.pointer<float>(),
                            a.pointer<float>(), a.pointer<float>(), a.pointer<Value>(),
                            a.integer(),        a.number()};
  return call(a, kernel, rows, 1, rows * kernel.cells, threads);
}

template <class Value>
PyObject* cell_backward(Arguments& a, int64_t rows, int64_t threads) {
  CellBackward<Value> kernel{a.pointer<Value>(), a.pointer<Value>(), a.pointer<float>(),
                             a.pointer<float>(), a.pointer<float>(), a.pointer<Value>(),
                             a.pointer<Value>(), a.integer(),        a.number()};
  return call(a, kernel, rows, 1, rows * kernel.cells, threads);
}

template <class Value>
PyObject* state_forward(Arguments& a, int64_t rows, int64_t threads) {
  StateForward<Value> kernel{a.pointer<Value>(), a.pointer<float>(), a.pointer<float>(),
                             a.pointer<float>(), a.pointer<Value>(), a.integer(),
                             a.number(),         a.number()};
  return call(a, kernel, rows, 1, rows * kernel.size, threads);
}

template <class Value>
PyObject* state_backward(Arguments& a, int64_t rows, int64_t threads) {
  StateBackward<Value> kernel{a.pointer<float>(), a.pointer<Value>(), a.integer(),
                              a.pointer<Value>(), a.pointer<float>(), a.pointer<Value>(),
                              a.integer(),        a.number(),         a.number()};
  return call(a, kernel, rows, 1, rows * kernel.size, threads);
}

template <class Value>
PyObject* norm_backward(Arguments& a, int64_t rows, int64_t) {
  NormBackward<Value> kernel{a.pointer<float>(), a.pointer<Value>(), a.pointer<float>(),
                             a.pointer<float>(), a.integer(),        a.number(),
                             a.number()};
  return call(a, kernel, rows, 1, rows * kernel.size, 1);
}

template <class Value>
PyObject* sum_rows(Arguments& a, int64_t rows, int64_t threads) {
  SumRows<Value> kernel{a.pointer<Value>(), a.pointer<float>(), rows, a.integer()};
  return call(a, kernel, kernel.columns, kAlignment, rows * kernel.columns, threads);
}

// Every function takes, first, whether the values are bfloat16, the number of rows and the number
// of threads.
using Function = PyObject* (*)(Arguments&, int64_t, int64_t);

template <Function of_float, Function of_bfloat16>
PyObject* method(PyObject*, PyObject* const* values, Py_ssize_t count) {
  Arguments arguments(values, count);
  const bool is_bfloat16 = arguments.integer() != 0;
  const int64_t rows = arguments.integer();
  const int64_t threads = arguments.integer();
  return (is_bfloat16 ? of_bfloat16 : of_float)(arguments, rows, threads);
}

#define METHOD(name)                                                                          \
  {                                                                                           \
    #name, reinterpret_cast<PyCFunction>(                                                     \
               reinterpret_cast<void (*)()>(method<name<float>, name<BFloat16>>)),            \
        METH_FASTCALL, nullptr                                                                \
  }

PyObject* select_instruction_set(PyObject*, PyObject* limit) {
  const char* name = PyUnicode_AsUTF8(limit);
  if (!name) return nullptr;
  if (std::strcmp(name, "default") && std::strcmp(name, "avx2") && std::strcmp(name, "avx512")) {
    return PyErr_Format(PyExc_ValueError, "unknown instruction set: %s", name);
  }
  instruction_set = choose_instruction_set(name);
  const char* names[] = {"default", "avx2", "avx512"};
  return PyUnicode_FromString(names[static_cast<int>(instruction_set)]);
}

PyMethodDef methods[] = {{"select_instruction_set", select_instruction_set, METH_O,
                          "Selects the best instruction set up to 'default', 'avx2' or 'avx512', "
                          "and returns it."},
                         METHOD(cell_forward),       METHOD(cell_backward),
                         METHOD(state_forward),      METHOD(state_backward),
                         METHOD(norm_backward),      METHOD(sum_rows),
                         {nullptr, nullptr, 0, nullptr}};

PyModuleDef module = {PyModuleDef_HEAD_INIT, "native_kernels", nullptr, -1, methods,
                      nullptr,               nullptr,          nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_native_kernels() {
  // PyTorch's operations obey this variable, too, and ignore other values.
  const char* variable = std::getenv("ATEN_CPU_CAPABILITY");
  const std::string limit = variable ? variable : "";
  instruction_set = choose_instruction_set(limit == "default" || limit == "avx2" ? limit : "avx512");
  return PyModule_Create(&module);
}
