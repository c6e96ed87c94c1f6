// A config of this package on NUM_MACHINES machines alike, with the first of them at PRIMARY_ADDRESS:
// docs/howto/training.md. Each update has as many times the words, so an epoch has so many times fewer
// updates, and the learning rate rises so many times higher.
local num_machines = std.parseInt(std.extVar('NUM_MACHINES'));

{
  sizes+:: {
    num_replicas: super.num_replicas * num_machines,
    num_updates: super.num_updates / num_machines,
  },
  data_loader+:
    if std.objectHas(super.data_loader, 'batches_per_epoch')
    then { batches_per_epoch: std.floor(super.batches_per_epoch / num_machines) }
    else {},
  distributed+: {
    num_nodes: num_machines,
    primary_address: std.extVar('PRIMARY_ADDRESS'),
    // One that is free on the first machine and that its firewall lets the others reach.
    primary_port: 29500,
  },
}
