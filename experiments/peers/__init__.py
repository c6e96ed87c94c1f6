"""
Word representations that a user could train instead, each for a number of minutes: `word2vec`,
`bert`, `electra` and `flair`. The configs of tasks use them with `representations.libsonnet`.
"""
