#include "step_counters.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stepslack/base/context.h"

namespace stepslack::train {
namespace {

TEST(StepCounters, ReadTheRunQueueDelay) {
  EXPECT_EQ(RunQueueNs("765441413 5000 123\n"), 5000);
  EXPECT_EQ(RunQueueNs("0 0 0\n"), 0);
  EXPECT_EQ(RunQueueNs(""), -1);
  EXPECT_EQ(RunQueueNs("12"), -1);
  EXPECT_EQ(RunQueueNs("x 1 2"), -1);
}

TEST(StepCounters, ReadThrottlingOfBothVersionsOfControlGroups) {
  CounterReading two;
  ReadThrottling("usage_usec 9\nnr_periods 4\nnr_throttled 3\nthrottled_usec 25\n",
                 two);
  EXPECT_EQ(two.throttle_count, 3);
  EXPECT_EQ(two.throttled_ns, 25'000);
  CounterReading one;
  ReadThrottling("nr_periods 4\nnr_throttled 2\nthrottled_time 777\n", one);
  EXPECT_EQ(one.throttle_count, 2);
  EXPECT_EQ(one.throttled_ns, 777);
  CounterReading root;  // has no quota, so no such lines
  ReadThrottling("usage_usec 9\nuser_usec 5\nsystem_usec 4\nx nr_throttled 1\n", root);
  EXPECT_EQ(root.throttle_count, -1);
  EXPECT_EQ(root.throttled_ns, -1);
}

TEST(StepCounters, CountThePagesThatAStepTouches) {
  const StepCounters counters;
  constexpr int64_t kPages = 500;
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t bytes = static_cast<size_t>(kPages) * page;
  const CounterReading before = counters.Read();
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  ::madvise(memory, bytes, MADV_NOHUGEPAGE);
  for (size_t at = 0; at < bytes; at += page)
    static_cast<volatile char*>(memory)[at] = 1;
  const CounterReading after = counters.Read();
  ::munmap(memory, bytes);
  record::StepRecord record;
  FillCounters(before, after, record);
  EXPECT_GE(record.minor_faults, kPages);
  EXPECT_LT(record.minor_faults, kPages + 100);
  // The kernel keeps this number up to 64 pages behind for each thread.
  EXPECT_GE(after.resident_bytes - before.resident_bytes,
            (kPages - 128) * static_cast<int64_t>(page));
  EXPECT_EQ(record.resident_bytes, after.resident_bytes);
  EXPECT_GT(record.cpu_seconds, 0.0);
}

TEST(StepCounters, WhatTheHostDoesNotTellStaysUnknown) {
  CounterReading before, after;
  before.run_queue_ns = 5;
  after.run_queue_ns = 7;
  after.throttled_ns = 9;  // appeared in between: no difference to tell
  record::StepRecord record;
  FillCounters(before, after, record);
  EXPECT_EQ(record.run_queue_ns, 2);
  EXPECT_EQ(record.throttled_ns, -1);
  EXPECT_EQ(record.throttle_count, -1);
}

}  // namespace
}  // namespace stepslack::train
