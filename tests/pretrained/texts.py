SENTENCES = [
    ["The", "captain", "closed", "the", "gate", "."],
    ["Snow", "."],
    ["Nobody", "had", "seen", "so", "much", "of", "it", "before"],
]
