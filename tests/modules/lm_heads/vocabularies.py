from allennlp.data import Vocabulary


def vocabulary_of(num_words: int, namespace: str = "tokens") -> Vocabulary:
    """So many words, besides the padding and the unknown one."""
    vocab = Vocabulary()
    vocab.add_tokens_to_namespace([f"w{index}" for index in range(num_words)], namespace)
    return vocab
