#!/usr/bin/env python3
"""Writes the small traces that golden and measure tests read: two ranks on one device
each, three steps, one all-reduce a step with a sequence number. Rank 1 computes longer,
so rank 0 waits. Run it again only to change them; the files are committed."""
import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent


def event(cat, name, pid, tid, start_ns, length_ns, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid,
            "ts": start_ns / 1000, "dur": length_ns / 1000, "args": args}


def rank_trace(rank):
    events = []
    compute_ns = 400_250 if rank == 0 else 600_500
    for step in range(3):
        t = 1_000_000 * step + 5_000
        cpu, gpu = 100 + rank, 0
        corr = 10 * step + 1
        events.append(event("user_annotation", f"ProfilerStep#{step + 5}", cpu, 1, t, 990_000))
        events.append(event("user_annotation", "enumerate(DataLoader)#_Iter.__next__", cpu, 1,
                            t, 50_000))
        events.append(event("user_annotation", "## forward ##", cpu, 1, t + 60_000, 200_000))
        events.append(event("cuda_runtime", "cudaLaunchKernel", cpu, 1, t + 70_000, 5_000,
                            correlation=corr))
        events.append(event("kernel", "matmul_kernel", gpu, 7, t + 80_000, compute_ns,
                            stream=7, correlation=corr))
        arrive = t + 80_000 + compute_ns + 1_000
        leave = t + 80_000 + 600_500 + 1_000 + 100_000
        events.append(event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", gpu, 20, arrive,
                            leave - arrive, stream=20, correlation=corr + 1,
                            **{"Collective name": "allreduce", "In msg nelems": 250_000,
                               "Out msg nelems": 250_000, "dtype": "Float", "Group size": 2,
                               "Process Group Name": "0", "Seq": step}))
        events.append(event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", gpu, 7, leave + 2_000,
                            10_000, stream=7, correlation=corr + 2))
    return {"schemaVersion": 1, "baseTimeNanoseconds": 1_700_000_000_000_000_000,
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2},
            "traceEvents": events}


for rank in range(2):
    text = json.dumps(rank_trace(rank), indent=1)
    (HERE / "two_ranks").mkdir(exist_ok=True)
    (HERE / "two_ranks" / f"rank{rank}.json").write_text(text + "\n")
