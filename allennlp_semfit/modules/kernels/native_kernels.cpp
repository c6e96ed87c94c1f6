// CPU kernels of `projected_lstm.py`: what lies between its matrix products. `torch_ops.py` defines
// the same functions in PyTorch, and `native_ops.py` calls those at the end of this file.
//
// They take addresses, so that building them needs neither PyTorch's nor Python's headers. Each
// kernel is compiled for AVX-512, AVX2 and the baseline of the target. All arithmetic is in float32;
// `Value` is the type of the matrix products, float or bfloat16.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
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

// Converts each value. GCC 8, the compiler of RHEL 8, has no function for it.
template <int64_t W, class To, class From>
INLINE To convert(From from) {
#if defined(__clang__) || __GNUC__ >= 9
  return __builtin_convertvector(from, To);
#else
  To to = {};
  for (int64_t lane = 0; lane < W; ++lane) to[lane] = from[lane];
  return to;
#endif
}

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
  return (typename Vector<W>::Floats)(convert<W, Words>(bits) << 16);
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
  HalfWords halves = convert<W, HalfWords>(rounded >> 16);
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
    Floats centered = clip(load<W>(row + at, count), bound) - *mean;
    if (count == W) {
      squares += centered * centered;
    } else {
      for (int64_t lane = 0; lane < count; ++lane) squares[lane] += centered[lane] * centered[lane];
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
          Floats normalized = (clip(unclipped, bound) - mean) * scale;
          grad = scale * (grad * load<W>(weight + at, count) - mean_grad - normalized * mean_product);
        }
        grad = select(absolute(unclipped) <= broadcast<Floats>(bound), grad, Floats{});
        store<W>(grad_projected + row * size + at, grad, count);
      });
    }
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

// The number of values in a vector: 16 with AVX-512, 8 with AVX2, or 4.
int64_t vector_width = 4;

template <class Kernel>
void run_range(const Kernel& kernel, int64_t begin, int64_t end) {
#if defined(__x86_64__)
  if (vector_width == 16) return run_avx512(kernel, begin, end);
  if (vector_width == 8) return run_avx2(kernel, begin, end);
#endif
  run_baseline(kernel, begin, end);
}

// Runs the kernel on all rows in up to `num_threads` threads. Starting a thread takes as long as
// some ten thousand values.
template <class Kernel>
void run_in_threads(const Kernel& kernel, int64_t rows, int64_t columns, int64_t num_threads) {
  const int64_t parts = std::min({num_threads, rows, rows * columns / (1 << 16)});
  if (parts <= 1) return run_range(kernel, 0, rows);
  std::vector<std::thread> threads;
  auto bound = [&](int64_t part) { return rows * part / parts; };
  try {
    for (int64_t part = 1; part < parts; ++part) {
      threads.emplace_back(run_range<Kernel>, std::cref(kernel), bound(part), bound(part + 1));
    }
  } catch (const std::system_error&) {
    // No more threads: the rest runs here.
  }
  run_range(kernel, 0, bound(1));
  const int64_t started = static_cast<int64_t>(threads.size()) + 1;
  if (started < parts) run_range(kernel, bound(started), rows);
  for (std::thread& thread : threads) thread.join();
}

// An address, which converts to a pointer to any type.
struct Address {
  void* address;

  template <class T>
  operator T*() const {
    return static_cast<T*>(address);
  }
};

// Runs `Kernel<Value>`, whose members are `members`, in order.
template <template <class> class Kernel, class... Members>
void run(bool is_bfloat16, int64_t rows, int64_t columns, int64_t num_threads, Members... members) {
  if (is_bfloat16) {
    run_in_threads(Kernel<BFloat16>{members...}, rows, columns, num_threads);
  } else {
    run_in_threads(Kernel<float>{members...}, rows, columns, num_threads);
  }
}

}  // namespace

// ---- functions for Python ----

extern "C" {

// Selects the widest vectors that the CPU has, up to `limit` values, and returns their width.
int64_t select_vector_width(int64_t limit) {
  vector_width = 4;
#if defined(__x86_64__)
  if (limit >= 8 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    vector_width = 8;
    if (limit >= 16 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
      vector_width = 16;
    }
  }
#endif
  return vector_width;
}

void cell_forward(bool is_bfloat16, int64_t rows, int64_t cells, int64_t num_threads,
                  Address gates, Address recurrent_gates, Address bias, Address previous,
                  Address cell_state, Address hidden, float bound) {
  run<CellForward>(is_bfloat16, rows, cells, num_threads, gates, recurrent_gates, bias, previous,
                   cell_state, hidden, cells, bound);
}

void cell_backward(bool is_bfloat16, int64_t rows, int64_t cells, int64_t num_threads,
                   Address grad_hidden, Address gates, Address previous, Address cell_state,
                   Address grad_cell_state, Address grad_gates, Address hidden, float bound) {
  run<CellBackward>(is_bfloat16, rows, cells, num_threads, grad_hidden, gates, previous, cell_state,
                    grad_cell_state, grad_gates, hidden, cells, bound);
}

void state_forward(bool is_bfloat16, int64_t rows, int64_t size, int64_t num_threads,
                   Address projected, Address weight, Address bias, Address state,
                   Address recurrent, float eps, float bound) {
  run<StateForward>(is_bfloat16, rows, size, num_threads, projected, weight, bias, state, recurrent,
                    size, eps, bound);
}

void state_backward(bool is_bfloat16, int64_t rows, int64_t size, int64_t num_threads,
                    Address grad_state, Address grad_recurrent, int64_t recurrent_rows,
                    Address projected, Address weight, Address grad_projected, float eps,
                    float bound) {
  run<StateBackward>(is_bfloat16, rows, size, num_threads, grad_state, grad_recurrent,
                     recurrent_rows, projected, weight, grad_projected, size, eps, bound);
}

}  // extern "C"
