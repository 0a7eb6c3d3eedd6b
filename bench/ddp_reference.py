#!/usr/bin/python3
"""The yardstick: the same two models trained by PyTorch DistributedDataParallel on Gloo.

One rank, started with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT (world size 1 needs
neither). Prints one JSON line {"step_ns": [...]} from rank 0. The models are those of
docs/models.md; the batch is made once and stays in memory, so that no loading is timed.
"""
import argparse
import contextlib
import datetime
import json
import os
import time

import torch
from torch import nn


def block(inputs, outputs):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
        nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, planes=8, widths=(32, 64, 128, 256)):
        super().__init__()
        self.down = nn.ModuleList()
        for inputs, outputs in zip((planes,) + widths, widths):
            self.down.append(block(inputs, outputs))
        self.up = nn.ModuleList()
        self.join = nn.ModuleList()
        for outputs, inputs in zip(widths[-2::-1], widths[:0:-1]):
            self.up.append(nn.ConvTranspose2d(inputs, outputs, 2, stride=2))
            self.join.append(block(2 * outputs, outputs))
        self.head = nn.Conv2d(widths[0], 1, 1)
        self.pool = nn.MaxPool2d(2)

    def forward(self, x):
        skips = []
        for level, down in enumerate(self.down):
            x = down(x if level == 0 else self.pool(x))
            skips.append(x)
        skips.pop()
        for up, join in zip(self.up, self.join):
            x = join(torch.cat([skips.pop(), up(x)], 1))
        return self.head(x).squeeze(1)


def mlp(widths=(512, 1024, 1024, 1024, 512)):
    layers = []
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers[:-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=["unet", "mlp"], required=True)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--no-comm", action="store_true")
    parser.add_argument("--core", type=int, default=-1)
    options = parser.parse_args()
    rank = int(os.environ.get("RANK", 0))
    world = int(os.environ.get("WORLD_SIZE", 1))
    if options.core >= 0:
        os.sched_setaffinity(0, {options.core})
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = UNet() if options.model == "unet" else mlp()
    if options.model == "unet":
        x, y = torch.rand(options.batch, 8, 64, 64), torch.rand(options.batch, 64, 64)
    else:
        x, y = torch.rand(options.batch, 512), torch.rand(options.batch, 512)
    net = model
    if world > 1:
        torch.distributed.init_process_group(
            "gloo", timeout=datetime.timedelta(seconds=60))
        net = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
    loss_of = nn.L1Loss()
    times = []
    for _ in range(options.steps):
        start = time.monotonic_ns()
        quiet = options.no_comm and world > 1
        with net.no_sync() if quiet else contextlib.nullcontext():
            optimizer.zero_grad(set_to_none=not (world > 1))
            loss = loss_of(net(x), y)
            loss.backward()
        optimizer.step()
        loss.item()
        times.append(time.monotonic_ns() - start)
    if rank == 0:
        print(json.dumps({"step_ns": times,
                          "parameters": sum(p.numel() for p in model.parameters())}))
    if world > 1:
        torch.distributed.barrier()


if __name__ == "__main__":
    main()
