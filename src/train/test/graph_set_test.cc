#include "graph_set.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "sample_batch.h"
#include "stepslack/base/file.h"

namespace stepslack::train {
namespace {

template <typename T>
std::string Npy(const char* dtype, const std::vector<int64_t>& shape,
                const std::vector<T>& values) {
  std::string dims;
  for (int64_t length : shape) dims += std::to_string(length) + ",";
  std::string header = std::string("{'descr': '") + dtype +
                       "', 'fortran_order': False, 'shape': (" + dims + ")}";
  header.resize(118, ' ');
  std::string out("\x93NUMPY\x01\x00\x76\x00", 10);
  out += header;
  out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return out;
}

template <typename T>
void Put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

uint32_t Crc(std::string_view bytes) {
  uint32_t crc = ~0U;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
    }
  }
  return ~crc;
}

// A zip archive of stored entries, as numpy.savez writes it.
std::string Zip(const std::map<std::string, std::string>& files) {
  std::string out, directory;
  for (const auto& [name, content] : files) {
    std::string facts;
    for (int value : {20, 0, 0, 0, 0x21}) Put(facts, static_cast<uint16_t>(value));
    Put<uint32_t>(facts, Crc(content));
    Put<uint32_t>(facts, static_cast<uint32_t>(content.size()));
    Put<uint32_t>(facts, static_cast<uint32_t>(content.size()));
    Put<uint16_t>(facts, static_cast<uint16_t>(name.size()));
    Put<uint16_t>(facts, 0);
    Put<uint32_t>(directory, 0x02014b50);
    Put<uint16_t>(directory, 20);
    directory += facts + std::string(10, '\0');
    Put<uint32_t>(directory, static_cast<uint32_t>(out.size()));
    directory += name;
    Put<uint32_t>(out, 0x04034b50);
    out += facts + name + content;
  }
  const auto start = static_cast<uint32_t>(out.size());
  out += directory;
  Put<uint32_t>(out, 0x06054b50);
  Put<uint32_t>(out, 0);
  Put<uint16_t>(out, static_cast<uint16_t>(files.size()));
  Put<uint16_t>(out, static_cast<uint16_t>(files.size()));
  Put<uint32_t>(out, static_cast<uint32_t>(directory.size()));
  Put<uint32_t>(out, start);
  Put<uint16_t>(out, 0);
  return out;
}

// Three graphs of 2, 3 and 1 nodes with 1, 2 and 0 edges; the last one is for tests.
class GraphSetTest : public testing::Test {
 protected:
  GraphSetTest() : folder_(testing::TempDir() + "graph_" + std::to_string(::getpid())) {
    EXPECT_TRUE(base::MakeFolders(folder_).has_value());
    plan_.model = "gnn";
    plan_.inputs_path = base::JoinPath(folder_, "g.npz");
    plan_.train_indices = {0};
    plan_.validation_indices = {1};
    plan_.test_indices = {2};
  }
  ~GraphSetTest() override { std::filesystem::remove_all(folder_); }
  std::string Archive() const {
    const auto graphs = static_cast<int64_t>(nodes_.size());
    const auto edges = static_cast<int64_t>(ends_.size() / 2);
    const auto rows = static_cast<int64_t>(targets_.size());
    return Zip({{"node_offset.npy", Npy("<i8", {graphs}, nodes_)},
                {"edge_offset.npy", Npy("<i8", {graphs}, edges_)},
                {"node_features.npy", Npy("<f4", {6, 1}, features_)},
                {"edges.npy", Npy("<i8", {edges, 2}, ends_)},
                {"targets.npy", Npy("<f4", {rows, 1}, targets_)}});
  }
  static void Write(const std::string& path, const std::string& bytes) {
    std::ofstream file(path, std::ios::binary);
    file << bytes;
    EXPECT_TRUE(file.flush().good());
  }
  base::Result<GraphSet> Load() {
    Write(plan_.inputs_path, Archive());
    return GraphSet::Load(plan_);
  }
  base::Error LoadError() {
    const auto set = Load();
    EXPECT_FALSE(set.has_value());
    return set.has_value() ? base::Error{} : set.error();
  }

  std::string folder_;
  record::TrainPlan plan_;
  std::vector<int64_t> nodes_ = {0, 2, 5, 6};
  std::vector<int64_t> edges_ = {0, 1, 3, 3};
  std::vector<float> features_ = {-1, 1, 5,
                                  6,  7, 8};  // of graph 0: mean 0, deviation 1
  std::vector<int64_t> ends_ = {1, 0, 2, 1, 0, 2};
  std::vector<float> targets_ = {10, 20, 30};
};

TEST_F(GraphSetTest, ABatchJoinsGraphsAndShiftsTheirNodeNumbers) {
  const GraphSet set = Load().value();
  EXPECT_EQ(set.size(), 3);
  EXPECT_EQ(set.planes(), 1);
  EXPECT_FALSE(set.targets_per_node());
  EXPECT_EQ(set.PredictionShape(std::vector<int64_t>{2, 1}),
            (std::vector<int64_t>{2, 1}));
  std::vector<float> in(3), out(1);
  std::vector<int64_t> source(2), sink(2);
  ASSERT_TRUE(set.Encode(1, 0, {in, out, source, sink, 10}).has_value());
  EXPECT_EQ(in, (std::vector<float>{5, 6, 7}));
  EXPECT_EQ(out, (std::vector<float>{10}));  // one training target: mean 10
  EXPECT_EQ(source, (std::vector<int64_t>{12, 10}));
  EXPECT_EQ(sink, (std::vector<int64_t>{11, 12}));
  SampleBatch batch;
  ASSERT_TRUE(batch.Fill(set, std::vector<int64_t>{2, 0, 1}, {}, {}).has_value());
  const model::Batch all = batch.Part(0);
  EXPECT_EQ(all.samples, 3);
  EXPECT_EQ(std::vector<float>(all.inputs, all.inputs + 6),
            (std::vector<float>{8, -1, 1, 5, 6, 7}));
  EXPECT_EQ(std::vector<float>(all.targets, all.targets + 3),
            (std::vector<float>{20, 0, 10}));
}

TEST_F(GraphSetTest, TargetsMayBelongToNodes) {
  targets_ = {1, 3, 5, 7, 9, 11};  // training nodes 1 and 3: mean 2, deviation 1
  const GraphSet set = Load().value();
  EXPECT_TRUE(set.targets_per_node());
  EXPECT_EQ(set.Size(1).targets, 3);
  EXPECT_EQ(set.PredictionShape(std::vector<int64_t>{0, 1}),
            (std::vector<int64_t>{5, 1}));
  ErrorSums sums(1);
  set.AddErrors(1, std::vector<float>{0, 0, 0}, sums);  // predicts 2, 2, 2
  EXPECT_DOUBLE_EQ(sums.error[0], 3 + 5 + 7);
  EXPECT_DOUBLE_EQ(sums.magnitude[0], 5 + 7 + 9);
  EXPECT_DOUBLE_EQ(sums.values, 3);
}

TEST_F(GraphSetTest, AFolderOfArchivesIsOneSet) {
  Write(base::JoinPath(folder_, "a.npz"), Archive());
  features_ = {0, 0, 0, 0, 0, 42};
  Write(base::JoinPath(folder_, "b.npz"), Archive());
  plan_.inputs_path = folder_;
  plan_.test_indices = {5};
  auto set = GraphSet::Load(plan_);
  ASSERT_TRUE(set.has_value()) << Describe(set.error());
  EXPECT_EQ(set->size(), 6);
  std::vector<float> in(1), out(1);
  ASSERT_TRUE(set->Encode(5, 0, {in, out, {}, {}, 0}).has_value());
  EXPECT_EQ(in[0], 42.0F);
  targets_ = {1, 2, 3, 4, 5, 6};
  Write(base::JoinPath(folder_, "c.npz"), Archive());
  EXPECT_EQ(GraphSet::Load(plan_).error().id, "TRAIN-0057");
}

TEST_F(GraphSetTest, BadOffsetsAreNamedWithPlaceAndCount) {
  nodes_ = {0, 4, 2, 6};
  base::Error error = LoadError();
  EXPECT_EQ(error.id, "TRAIN-0054");
  EXPECT_EQ(error.what, "node_offset has 1 bad of 4 entries");
  EXPECT_EQ(error.where, plan_.inputs_path + ", entry 2");
  nodes_ = {1, 2, 5, 7};
  EXPECT_EQ(LoadError().what, "node_offset has 2 bad of 4 entries");
  nodes_ = {0, 2, 4, 5};  // a node of nobody
  EXPECT_EQ(LoadError().where, plan_.inputs_path + ", entry 3");
  nodes_ = {0, 2, 5, 6};
  edges_ = {0, -1, 3, 3};
  EXPECT_EQ(LoadError().what, "edge_offset has 1 bad of 4 entries");
}

TEST_F(GraphSetTest, BadEdgesAreNamedWithPlaceAndCount) {
  ends_ = {1, 0, 2, 3, -1, 2};
  const base::Error error = LoadError();
  EXPECT_EQ(error.id, "TRAIN-0058");
  EXPECT_EQ(error.what,
            "edge 0 names node 3, but the graph has 3 nodes (2 bad in all)");
  EXPECT_EQ(error.where, plan_.inputs_path + ", graph 1");
  ends_ = {1, 0, 2, 1, 0, 2};
  nodes_ = {0, 2, 6, 6};
  EXPECT_EQ(LoadError().what, "the graph has no nodes (1 bad in all)");
}

TEST_F(GraphSetTest, NamesArraysThatAreMissingOrDoNotFit) {
  targets_ = {1, 2, 3, 4};
  base::Error error = LoadError();
  EXPECT_EQ(error.id, "TRAIN-0053");
  EXPECT_EQ(error.what, "array `targets` has 4 rows for 3 graphs and 6 nodes");
  const std::string archive =
      Zip({{"node_offset.npy", Npy("<f4", {2}, std::vector<float>{0, 1})}});
  Write(plan_.inputs_path, archive);
  error = GraphSet::Load(plan_).error();
  EXPECT_EQ(error.id, "TRAIN-0053");
  EXPECT_EQ(error.what, "array `node_offset` has the shape [2] and the type <f4");
}

}  // namespace
}  // namespace stepslack::train
