"""
Models of other packages to compare ELMo-S with, each trained for a number of minutes: `word2vec`,
`bert`, `electra` and `flair`. `representations.libsonnet` adds them to the configs of tasks.
"""
