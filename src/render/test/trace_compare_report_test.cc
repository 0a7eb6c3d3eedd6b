#include "stepslack/render/trace_compare_report.h"

#include <gtest/gtest.h>

namespace stepslack::render {
namespace {

using analyze::KernelKind;
using analyze::RankTrace;

RankTrace Made(int64_t exposed_ns, const std::string& kernel, int64_t total_ns) {
  RankTrace trace;
  for (int64_t n = 0; n < 3; ++n) {
    analyze::TraceStep step;
    step.step = n;
    step.start_ns = n * 1'000'000;
    step.end_ns = step.start_ns + 1'000'000;
    step.device.exposed_comm_ns = exposed_ns + n * 1000;
    trace.steps.push_back(step);
  }
  analyze::KernelRow row;
  row.name = trace.strings.Intern(kernel);
  row.kind = KernelKind::kCompute;
  row.count = 6;
  row.total_ns = total_ns;
  trace.kernels.push_back(row);
  return trace;
}

analyze::TraceComparison Compared(const std::string& kernel = "gemm") {
  const std::vector<RankTrace> a = {Made(100'000, kernel, 300'000)};
  const std::vector<RankTrace> b = {Made(200'000, kernel, 600'000)};
  return analyze::CompareTraces(a, b);
}

TEST(TraceCompareReport, TextStatesBasisDeltasAndIntervals) {
  const std::string text = RenderCompareText(Compared());
  EXPECT_NE(text.find("per rank-step: A 1 ranks, 3 steps, 3 rank-steps"),
            std::string::npos)
      << text;
  // 101 us against 201 us; 100 us and 200 us a step of the kernel, two calls each.
  EXPECT_NE(text.find("exposed_comm   101   201      +100"), std::string::npos) << text;
  EXPECT_NE(text.find("6 steps"), std::string::npos) << text;
  EXPECT_NE(text.find("gemm     100   200      +100      2        2        2         "
                      "50        100"),
            std::string::npos)
      << text;
  for (size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = text.find('\n', at);
    EXPECT_LE(end - at, 122u);
  }
}

TEST(TraceCompareReport, LongKernelNamesAndManyRowsAreCutAndCounted) {
  auto comparison = Compared(std::string(400, 'k') + "<float>");
  comparison.kernels.resize(30, comparison.kernels[0]);
  const std::string text = RenderCompareText(comparison, 5);
  EXPECT_NE(text.find("kkk...kkk"), std::string::npos) << text;
  EXPECT_NE(text.find("kkk<float> "), std::string::npos) << text;
  EXPECT_NE(text.find("and 25 more rows"), std::string::npos);
}

TEST(TraceCompareReport, TextShowsWhatTellsKernelsApart) {
  const std::string text = RenderCompareText(
      Compared("void at::native::elementwise_kernel<4, at::native::FillFunctor<int> "
               ">(int, at::native::FillFunctor<int>, at::detail::Array<char*, 1>)"));
  EXPECT_NE(text.find("  elementwise_kernel<4, FillFunctor<int> >  "),
            std::string::npos)
      << text;
}

TEST(TraceCompareReport, MarkdownEscapesKernelNames) {
  const std::string text = RenderCompareMarkdown(Compared("void k<a|b>(*)"));
  EXPECT_NE(text.find("## Kernels by change"), std::string::npos);
  EXPECT_NE(text.find("| kernel | A us |"), std::string::npos);
  EXPECT_EQ(text.find("<a|b>"), std::string::npos) << text;
}

TEST(TraceCompareReport, SaysWhenThereAreNoIntervals) {
  const std::vector<RankTrace> none;
  const std::string text = RenderCompareText(analyze::CompareTraces(none, none));
  EXPECT_NE(text.find("No intervals"), std::string::npos);
  EXPECT_EQ(text.find("Device time"), std::string::npos);
}

}  // namespace
}  // namespace stepslack::render
