"""Learn from a Parquet file batch by batch, in memory that does not grow with the file.

    python -m scripts.larger_than_memory --nonzeros 100000000

writes a file of sparse rows in a temporary folder, learns from it, and prints the peak memory of
the learning process after a tenth of the file and at its end.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import sparse

PER_ROW, WIDTH, BATCH = 100, 20_000, 10_000


def write(path: Path, n_rows: int) -> None:
    """Write rows with as many nonzeros each, and the labels of a linear teacher."""
    rng = np.random.default_rng(0)
    teacher = rng.standard_normal(WIDTH)
    room = WIDTH // PER_ROW
    offsets = pa.array(np.arange(BATCH + 1) * PER_ROW, pa.int32())
    writer = None
    for _ in range(n_rows // BATCH):
        at = (np.arange(PER_ROW) * room + rng.integers(room, size=(BATCH, PER_ROW))).astype("i4")
        values = rng.standard_normal((BATCH, PER_ROW)) / 10.0
        y = np.where(np.einsum("ij,ij->i", values, teacher[at]) > 0.0, 1.0, -1.0)
        table = pa.table(
            {
                "column": pa.ListArray.from_arrays(offsets, at.ravel()),
                "value": pa.ListArray.from_arrays(offsets, values.ravel()),
                "y": y,
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema, compression="NONE")
        writer.write_table(table)
    if writer is not None:
        writer.close()


def learn(path: Path) -> None:
    """Learn from the file, a batch at a time, and print the peak memory on the way."""
    import resource

    from omtl.sklearn import PassiveAggressive

    def peak() -> float:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0

    model = PassiveAggressive().begin(WIDTH, [-1.0, 1.0], sparse=True)
    file = pq.ParquetFile(path, pre_buffer=False)
    n_batches, spent, began = file.metadata.num_rows // BATCH, 0.0, time.perf_counter()
    for k, batch in enumerate(file.iter_batches(BATCH), start=1):
        at, value = batch["column"], batch["value"]
        begin, end = value.offsets[0].as_py(), value.offsets[-1].as_py()
        rows = sparse.csr_array(
            (
                value.values.to_numpy()[begin:end],
                at.values.to_numpy()[begin:end],
                value.offsets.to_numpy() - begin,
            ),
            shape=(len(batch), WIDTH),
        )
        before = time.perf_counter()
        model.partial_fit(rows, batch["y"].to_numpy())
        spent += time.perf_counter() - before
        if k in (max(n_batches // 10, 1), n_batches):
            print(f"{k * BATCH * PER_ROW:,} nonzeros: peak memory {peak():.0f} MiB")
    whole = time.perf_counter() - began
    print(f"{whole:.1f} s, of which partial_fit {spent:.1f} s; {path.stat().st_size:,} bytes")


def main() -> None:
    """Write the file, and learn from it in a process of its own."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nonzeros", type=int, default=10**8)
    parser.add_argument("--file", type=Path, help="learn from this file alone")
    options = parser.parse_args()
    if options.file is not None:
        learn(options.file)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write(path, max(options.nonzeros // PER_ROW, BATCH))
        again = [sys.executable, "-m", "scripts.larger_than_memory", "--file", str(path)]
        subprocess.run(again, check=True)


if __name__ == "__main__":
    main()
