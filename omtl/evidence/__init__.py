"""What the numbers say: claims, paired tests, ranks, margins without hindsight."""
