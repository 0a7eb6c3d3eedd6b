#include "stepslack/trace/nsys_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "stepslack/base/file.h"

namespace stepslack::trace {
namespace {

constexpr int64_t kSession = 1'700'000'000'000'000'000;

// A database in a file of its own, deleted at the end.
class Database {
 public:
  explicit Database(const std::string& sql) {
    static int made = 0;
    path_ = (std::filesystem::temp_directory_path() /
             fmt::format("nsys reader #{}-{}?.sqlite", getpid(), ++made))
                .string();
    std::filesystem::remove(path_);
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
    const std::string script = "PRAGMA synchronous = OFF;" + sql;
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(database, script.c_str(), nullptr, nullptr, &error),
              SQLITE_OK)
        << (error == nullptr ? "" : error);
    sqlite3_free(error);
    sqlite3_close(database);
  }
  ~Database() {
    std::filesystem::remove(path_);
    std::filesystem::remove(path_ + "-wal");
  }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Process ids carry the number of the virtual machine above them.
int64_t Pid(int64_t pid) { return int64_t{1} << 48 | pid << 24; }

const char* const kTables = R"(
  CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
  CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,
    deviceId INTEGER NOT NULL, contextId INTEGER, greenContextId INTEGER,
    streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
    demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, gridX INTEGER);
  CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER,
    streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER,
    copyKind INTEGER);
  CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER,
    eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
  CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER,
    rangeId INTEGER, text TEXT, globalTid INTEGER, domainId INTEGER, textId INTEGER,
    jsonText TEXT);
  INSERT INTO StringIds VALUES (1, 'void gemm<float>(float*)'), (2, 'gemm'),
    (3, 'cudaLaunchKernel_v7000'), (4, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)'),
    (5, 'cuLaunchKernelEx'), (6, 'ncclAllReduce'), (7, 'forward');
)";

DeviceTraces Read(const Database& database, const NsysOptions& options = {}) {
  auto traces = ReadNsysExport(database.path(), options);
  EXPECT_TRUE(traces.has_value()) << (traces ? "" : base::Describe(traces.error()));
  return traces.has_value() ? std::move(*traces) : DeviceTraces{};
}

std::vector<std::string> Names(const EventStore& store, std::string_view category) {
  std::vector<std::string> names;
  for (size_t i = 0; i < store.size(); ++i) {
    if (store.CategoryOf(i) == category) names.emplace_back(store.NameOf(i));
  }
  return names;
}

TEST(NsysReader, ReadsKernelsCopiesCallsAndRangesOfOneProcess) {
  const int64_t thread = Pid(4711) + 4712;
  const DeviceTraces traces =
      Read(Database(kTables + fmt::format(R"(
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
      (2000, 3000, 0, 1, NULL, 7, 11, {0}, 1, 2, 8), (4000, 9000, 0, 1, NULL, 9, 12, {0}, 4, 4, 8);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (100, 200, 0, 7, 13, {0}, 4096, 1),
      (300, 400, 0, 7, 14, {0}, 4096, 77);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INT, end INT, deviceId INT,
      streamId INT, correlationId INT, globalPid INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (500, 600, 0, 7, 15, {0});
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000, 1010, 0, {1}, 11, 3),
      (1100, 1110, 0, {1}, 12, 5);
    INSERT INTO NVTX_EVENTS VALUES (900, 2000, 59, NULL, NULL, {1}, 0, 7, NULL),
      (910, 2010, 60, 5, 'step 3', {1}, 0, NULL, NULL),
      (1, NULL, 34, NULL, 'mark', {1}, 0, NULL, NULL),
      (2, NULL, 59, NULL, 'open', {1}, 0, NULL, NULL),
      (0, NULL, 75, NULL, 'NCCL', {1}, 3, NULL, NULL),
      (1090, 1200, 59, NULL, NULL, {1}, 3, 6, '{{"Message size [bytes]": 1048576, "Op": 0}}');
    CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT);
    INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES ({2}, 'x');
    CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INT, devStateName TEXT, name TEXT, value TEXT);
    INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (1, '', 'Hostname', 'node-3');
    CREATE TABLE TARGET_INFO_GPU (vmId INT, id INT, name TEXT, busLocation TEXT);
    INSERT INTO TARGET_INFO_GPU VALUES (0, 0, 'NVIDIA H100', '0000:9B:00.0');
  )",
                                          Pid(4711), thread, kSession)));
  ASSERT_EQ(traces.traces.size(), 1u);
  EXPECT_EQ(traces.host, "node-3");
  const DeviceTrace& trace = traces.traces[0];
  EXPECT_EQ(trace.model, "NVIDIA H100");
  EXPECT_EQ(trace.pci_bus, "0000:9b:00");
  EXPECT_EQ(trace.process, 4711);
  EXPECT_EQ(trace.device_index, 0);
  const EventStore& store = trace.store;
  EXPECT_EQ(store.file_rank, -1);  // one device: nothing to count
  EXPECT_EQ(Names(store, "kernel"),
            (std::vector<std::string>{"void gemm<float>(float*)",
                                      "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"}));
  EXPECT_EQ(Names(store, "gpu_memcpy"),
            (std::vector<std::string>{"Memcpy HtoD", "Memcpy unknown"}));
  EXPECT_EQ(Names(store, "gpu_memset"), std::vector<std::string>{"Memset"});
  EXPECT_EQ(Names(store, "cuda_runtime"), std::vector<std::string>{"cudaLaunchKernel"});
  EXPECT_EQ(Names(store, "cuda_driver"), std::vector<std::string>{"cuLaunchKernelEx"});
  EXPECT_EQ(Names(store, "user_annotation"),
            (std::vector<std::string>{"forward", "step 3"}));
  EXPECT_EQ(Names(store, "cpu_op"), std::vector<std::string>{"ncclAllReduce"});
  EXPECT_EQ(store.stats.Count("event without an end"), 1);
  EXPECT_EQ(traces.stats.Count("NVTX event that is no range not used"), 2);
  for (size_t i = 0; i < store.size(); ++i) {
    if (store.NameOf(i).starts_with("void gemm")) {
      EXPECT_EQ(store.start_ns[i], kSession + 2000);
      EXPECT_EQ(store.end_ns[i], kSession + 3000);
      EXPECT_EQ(store.stream[i], 7);
      EXPECT_EQ(store.correlation[i], 11);
      EXPECT_EQ(store.collective[i], kNoCollective);
    }
    if (store.NameOf(i) == "forward") {
      EXPECT_EQ(store.process[i], 4711);
      EXPECT_EQ(store.thread[i], 4712);
    }
  }
  ASSERT_EQ(store.collectives.size(), 1u);
  EXPECT_EQ(store.strings.Get(store.collectives[0].name), "all_reduce");
  EXPECT_EQ(store.collectives[0].bytes, 1'048'576);
}

TEST(NsysReader, GivesOneTracePerProcessEvenWhenAllCallTheirDeviceZero) {
  const Database database(kTables + fmt::format(R"(
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
      (1, 2, 0, 1, NULL, 7, 5, {0}, 1, 2, 8), (3, 5, 0, 1, NULL, 7, 5, {1}, 1, 2, 8);
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (0, 1, 0, {0} + 1, 5, 3),
      (0, 2, 0, {1} + 1, 5, 3), (0, 2, 0, {2} + 1, 5, 3);
    CREATE TABLE TARGET_INFO_GPU (id INT, name TEXT, busLocation TEXT);
    INSERT INTO TARGET_INFO_GPU VALUES (0, 'A', '0000:19:00.0'), (1, 'B', '0000:3b:00.0');
    CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INT, cudaId INT, pid INT);
    INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (1, 0, 100), (0, 0, 200);
  )",
                                                Pid(100), Pid(200), Pid(300)));
  const DeviceTraces traces = Read(database);
  ASSERT_EQ(traces.traces.size(), 2u);
  // Process 200 has the first physical GPU.
  EXPECT_EQ(traces.traces[0].process, 200);
  EXPECT_EQ(traces.traces[0].pci_bus, "0000:19:00");
  EXPECT_EQ(traces.traces[1].process, 100);
  EXPECT_EQ(traces.traces[1].model, "B");
  EXPECT_EQ(traces.traces[0].store.file_rank, 0);
  EXPECT_EQ(traces.traces[1].store.rank[0], 1);
  EXPECT_EQ(Names(traces.traces[0].store, "cuda_runtime").size(), 1u);
  EXPECT_EQ(traces.stats.Count("event of a process without device work not used"), 1);
  EXPECT_NE(traces.rank_source.find("physical GPUs"), std::string::npos);
  EXPECT_EQ(Read(database, {.first_rank = 16}).traces[1].store.file_rank, 17);
}

TEST(NsysReader, SplitsTheDevicesOfOneProcessAndTheirLaunches) {
  const DeviceTraces traces = Read(Database(kTables + fmt::format(R"(
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
      (1, 2, 1, 1, NULL, 7, 5, {0}, 1, 2, 8), (3, 5, 0, 1, NULL, 7, 6, {0}, 1, 2, 8);
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (0, 1, 0, {0} + 1, 5, 3),
      (0, 2, 0, {0} + 1, 6, 3);
  )",
                                                                  Pid(100))));
  ASSERT_EQ(traces.traces.size(), 2u);
  EXPECT_EQ(traces.traces[0].device, "GPU 0 of process 100");
  for (const DeviceTrace& trace : traces.traces) {
    ASSERT_EQ(trace.store.size(), 2u);
    EXPECT_EQ(trace.store.correlation[0], trace.store.correlation[1]);
  }
}

TEST(NsysReader, CountsACudaGraphOnce) {
  const std::string graph = fmt::format(R"(
    CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INT, end INT, deviceId INT,
      streamId INT, correlationId INT, globalPid INT, graphId INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (10, 90, 0, 7, 4, {}, 21);)",
                                        Pid(1));
  EXPECT_EQ(Names(Read(Database(graph)).traces[0].store, "kernel"),
            std::vector<std::string>{"CUDA graph 21"});
  const DeviceTraces nodes = Read(Database(graph + fmt::format(R"(
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT,
      streamId INT, correlationId INT, globalPid INT, shortName TEXT, graphNodeId INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 90, 0, 7, 4, {}, 'k', 77);)",
                                                               Pid(1))));
  EXPECT_EQ(Names(nodes.traces[0].store, "kernel"), std::vector<std::string>{"k"});
}

TEST(NsysReader, MissingTablesAndOddRowsAreNormal) {
  const DeviceTraces traces = Read(Database(R"(
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 5, 0), ('x', 5, 0), (9, 7, 0),
      (1, NULL, 0), (1, 5, -3), (5, 700000000000000000, 0), (9000000000000000000, 9, 0);
  )"));
  ASSERT_EQ(traces.traces.size(), 1u);
  const EventStore& store = traces.traces[0].store;
  EXPECT_EQ(store.size(), 2u);
  EXPECT_EQ(store.stream[0], -1);
  EXPECT_EQ(store.stats.Count("malformed event"), 2);
  EXPECT_EQ(traces.stats.Count("malformed event"), 1);
  EXPECT_EQ(store.stats.Count("negative duration set to 0"), 1);
  EXPECT_EQ(store.stats.Count("event without an end"), 1);
  EXPECT_EQ(store.stats.Count("event longer than 7 days"), 1);
  EXPECT_EQ(traces.stats.Count("event without a name"), 7);
}

TEST(NsysReader, ReadsHostRangesAloneByProcess) {
  const DeviceTraces traces =
      Read(Database(kTables + fmt::format(R"(
    INSERT INTO NVTX_EVENTS VALUES (900, 2000, 59, NULL, 'a', {}, 0, NULL, NULL),
      (900, 2000, 59, NULL, 'b', {}, 0, NULL, NULL);)",
                                          Pid(7) + 7, Pid(9) + 9)));
  ASSERT_EQ(traces.traces.size(), 2u);
  EXPECT_EQ(traces.traces[0].device, "process 7");
  EXPECT_EQ(Names(traces.traces[1].store, "user_annotation"),
            std::vector<std::string>{"b"});
}

TEST(NsysReader, RefusesOtherFilesByName) {
  const auto missing = ReadNsysExport("/nonexistent/a.sqlite");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().id, "TRACE-0172");
  const Database other("CREATE TABLE people (name TEXT);");
  const auto foreign = ReadNsysExport(other.path());
  ASSERT_FALSE(foreign.has_value());
  EXPECT_EQ(foreign.error().id, "TRACE-0173");
  ASSERT_TRUE(base::WriteFileAtomic(other.path(),
                                    "no database, but long enough to be "
                                    "read as one by somebody careless")
                  .has_value());
  const auto text = ReadNsysExport(other.path());
  ASSERT_FALSE(text.has_value());
  EXPECT_EQ(text.error().id, "TRACE-0172");
}

TEST(NsysReader, IgnoresViewsThatPoseAsTables) {
  const auto traces = ReadNsysExport(Database(R"(
    CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(i) AS
      (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS start, i AS end FROM n;
  )")
                                         .path());
  ASSERT_FALSE(traces.has_value());
  EXPECT_EQ(traces.error().id, "TRACE-0173");
}

TEST(NsysReader, DoesNotComputeGeneratedColumns) {
  const DeviceTraces traces = Read(Database(R"(
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT,
      shortName TEXT AS (hex(zeroblob(start * 1000))));
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId) VALUES (99, 100, 0);
  )"));
  EXPECT_EQ(Names(traces.traces[0].store, "kernel"),
            std::vector<std::string>{"kernel"});
}

// Of an interior page of a table: places of the child numbers, the last one included.
std::vector<size_t> ChildPlaces(const std::string& bytes, size_t page) {
  const auto number = [&bytes](size_t at, size_t size) {
    size_t value = 0;
    for (size_t i = 0; i < size; ++i) {
      value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    }
    return value;
  };
  std::vector<size_t> places = {page + 8};
  for (size_t cell = 0; cell < number(page + 3, 2); ++cell) {
    places.push_back(page + number(page + 12 + 2 * cell, 2));
  }
  return places;
}

// The pages of a small table are joined so that a walk would visit a thousand million
// rows: each page above the leaves has the next one as all of its children.
TEST(NsysReader, StopsWhenATableTakesMoreWorkThanItsSizeAllows) {
  std::string sql = "PRAGMA page_size = 512;" + std::string(kTables);
  for (int i = 0; i < 4000; ++i) {
    sql += fmt::format(
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({}, {}, 0, 1, NULL, 7, {}, {}, "
        "1, 2, 8);",
        10 * i, 10 * i + 5, i, Pid(1));
    if (i == 0) sql += "BEGIN;";
  }
  const Database database(sql + "COMMIT;");
  std::string bytes = *base::ReadFile(database.path());
  std::vector<size_t> pages;  // above the leaves, the root first
  for (size_t page = 512; page + 512 <= bytes.size(); page += 512) {
    if (bytes[page] == 5) pages.push_back(page);
  }
  ASSERT_GE(pages.size(), 4u);
  for (size_t i = 0; i + 1 < pages.size(); ++i) {
    const size_t next = pages[i + 1] / 512 + 1;
    for (const size_t place : ChildPlaces(bytes, pages[i])) {
      for (size_t byte = 0; byte < 4; ++byte) {
        bytes[place + byte] = static_cast<char>(next >> (8 * (3 - byte)) & 0xff);
      }
    }
  }
  ASSERT_TRUE(base::WriteFileAtomic(database.path(), bytes).has_value());
  const auto traces = ReadNsysExport(database.path());
  ASSERT_FALSE(traces.has_value());
  EXPECT_EQ(traces.error().id, "TRACE-0175");
}

TEST(NsysReader, ADamagedFileGivesWhatCanBeReadOrAnError) {
  std::string rows;
  for (int i = 0; i < 4000; ++i) {
    rows += fmt::format("{}({}, {}, 0, 1, NULL, 7, {}, {}, 1, 2, 8)",
                        i == 0 ? "" : ", ", 10 * i, 10 * i + 5, i, Pid(1));
  }
  const Database database(
      kTables + ("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES " + rows + ";"));
  const auto bytes = base::ReadFile(database.path());
  ASSERT_TRUE(bytes.has_value());
  std::string damaged = bytes->substr(0, bytes->size() / 2);
  ASSERT_TRUE(base::WriteFileAtomic(database.path(), damaged).has_value());
  const auto cut = ReadNsysExport(database.path());
  if (cut.has_value()) {
    EXPECT_TRUE(cut->traces[0].store.truncated);
    EXPECT_LT(cut->traces[0].store.size(), 4000u);
    EXPECT_GE(cut->stats.CountOf(Severity::kError), 1);
  } else {
    EXPECT_TRUE(cut.error().id == "TRACE-0172" || cut.error().id == "TRACE-0174");
  }
  // Noise over each page in turn must never end the program.
  for (size_t page = 0; page + 4096 <= bytes->size(); page += 4096) {
    damaged = *bytes;
    for (size_t i = page + (page == 0 ? 100 : 0); i < page + 4096; ++i) {
      damaged[i] = static_cast<char>((i * 2654435761u) >> 13);
    }
    ASSERT_TRUE(base::WriteFileAtomic(database.path(), damaged).has_value());
    const auto traces = ReadNsysExport(database.path());
    if (!traces.has_value()) continue;
    size_t events = 0;
    for (const DeviceTrace& trace : traces->traces) events += trace.store.size();
    EXPECT_LE(events, 5000u);
  }
}

TEST(NsysReader, SaysThatAWriteAheadLogWasNotRead) {
  const Database database(kTables);
  ASSERT_TRUE(base::WriteFileAtomic(database.path() + "-wal", "rows").has_value());
  const auto traces = ReadNsysExport(database.path());
  ASSERT_TRUE(traces.has_value());
  EXPECT_EQ(traces->stats.Count("write-ahead log beside the file not read"), 1);
  EXPECT_TRUE(traces->traces.empty());
  const auto bytes = base::ReadFile(database.path());
  ASSERT_TRUE(bytes.has_value());
  EXPECT_TRUE(LooksLikeSqlite(*bytes));
  EXPECT_FALSE(LooksLikeSqlite("SQLite format 3"));
}

}  // namespace
}  // namespace stepslack::trace
