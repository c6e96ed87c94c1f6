from pathlib import Path

FIXTURES = Path(__file__).parent.parent / "test_fixtures"
VECTORS = str(FIXTURES / "vectors.bin")
