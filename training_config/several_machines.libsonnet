// Trains a language model on NUM_MACHINES identical machines, the first at PRIMARY_ADDRESS:
//
//   (import 'training_config/one_billion_word/elmo_semfit.jsonnet') + (import 'training_config/several_machines.libsonnet')
//
// A step has NUM_MACHINES times as many words, so an epoch has fewer steps by this factor, and the peak learning rate
// is higher by the same factor. See docs/howto/gpus.md.
local num_machines = std.parseInt(std.extVar('NUM_MACHINES'));

{
  data_loader+:
    if std.objectHas(super.data_loader, 'batches_per_epoch')
    then { batches_per_epoch: std.floor(super.batches_per_epoch / num_machines) }
    else {},
  trainer+: { learning_rate_scheduler+: { num_replicas: super.num_replicas * num_machines } },
  // Without devices in the config, the first GPU of each machine. On CPUs, add `+ { distributed+: { cuda_devices: [-1] } }`.
  // `:::` also shows the field if the config hides it with `distributed:: null`.
  local devices = if 'distributed' in super && super.distributed != null then super.distributed.cuda_devices else [0],
  distributed::: {
    cuda_devices: devices,
    num_nodes: num_machines,
    primary_address: std.extVar('PRIMARY_ADDRESS'),
    // The port must be free on the first machine, whose firewall must open it to the others.
    primary_port: 29500,
  },
}
