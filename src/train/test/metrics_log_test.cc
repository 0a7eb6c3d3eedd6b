#include "metrics_log.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

#include "stepslack/base/file.h"

namespace stepslack::train {
namespace {

std::string Path() {
  return testing::TempDir() + "metrics_" + std::to_string(::getpid()) + ".jsonl";
}

base::Json Line(int step) {
  base::Json json;
  json.Set("kind", "step");
  json.Set("step", step);
  return json;
}

TEST(MetricsLog, ResumeDropsLaterAndDamagedLines) {
  const std::string path = Path();
  ASSERT_TRUE(base::WriteFileAtomic(path,
                                    "{\"step\":1}\n{\"step\":2}\n{\"kind\":\"eval\","
                                    "\"step\":2}\n{\"step\":3}\n{\"st")
                  .has_value());
  auto log = MetricsLog::Open(path, 2);
  ASSERT_TRUE(log.has_value());
  ASSERT_TRUE(log->Append(Line(3)).has_value());
  ASSERT_TRUE(log->Flush().has_value());
  EXPECT_EQ(base::ReadFile(path).value(),
            "{\"step\":1}\n{\"step\":2}\n{\"kind\":\"eval\",\"step\":2}\n"
            "{\"kind\":\"step\",\"step\":3}\n");
  std::remove(path.c_str());
}

TEST(MetricsLog, FreshStartKeepsNothing) {
  const std::string path = Path();
  ASSERT_TRUE(base::WriteFileAtomic(path, "{\"step\":1}\n").has_value());
  auto log = MetricsLog::Open(path, 0);
  ASSERT_TRUE(log.has_value());
  EXPECT_EQ(base::ReadFile(path).value(), "");
  std::remove(path.c_str());
}

TEST(MetricsLog, AFileThatCanNotGrowIsAnError) {
  const std::string path = Path();
  auto log = MetricsLog::Open(path, 0);
  ASSERT_TRUE(log.has_value());
  // A file size limit stands in for a full disk.
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  const auto append = log->Append(Line(1));  // may stay in memory
  const auto flush = log->Flush();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_TRUE(append.has_value());
  ASSERT_FALSE(flush.has_value());
  EXPECT_EQ(flush.error().id, "TRAIN-0012");
  EXPECT_EQ(flush.error().exit_code, base::ExitCode::kEnvironment);
  EXPECT_EQ(flush.error().where, path);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace stepslack::train
