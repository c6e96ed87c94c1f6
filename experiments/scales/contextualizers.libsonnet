(import '../../training_config/laptop/override.libsonnet') + { trainer+: { use_amp: true } }
