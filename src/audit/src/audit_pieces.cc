// Tables that are larger than memory.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "audit_rows.h"
#include "stepslack/audit/row_hash.h"
#include "stepslack/base/file.h"
#include "stepslack/data/table_source.h"
#include "stepslack/record/mapped_array.h"

namespace stepslack::audit {
namespace {

using base::ExitCode;
using base::Fail;

constexpr int64_t kPieceBytes = 8 << 20;
constexpr int64_t kBatchRows = 16384;

// Rows of a float32 matrix file, read in pieces: mapped pages would count as memory.
base::Status HashMatrix(const std::string& path, int64_t rows, int64_t columns,
                        DuplicateSearch& search) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat facts {};
  if (file < 0 || fstat(file, &facts) != 0) {
    if (file >= 0) close(file);
    return Fail("AUDIT-0012", ExitCode::kInput,
                std::string("cannot be read: ") + std::strerror(errno), path,
                "check the file and its permissions");
  }
  const int64_t row_bytes = columns * int64_t{sizeof(float)};
  const int64_t piece_rows = std::max<int64_t>(1, kPieceBytes / row_bytes);
  std::vector<float> values(static_cast<size_t>(piece_rows * columns));
  std::vector<uint64_t> hashes;
  int64_t offset = facts.st_size - rows * row_bytes;  // behind the header
  base::Status status;
  for (int64_t first = 0; first < rows && status; first += piece_rows) {
    const int64_t count = std::min(piece_rows, rows - first);
    int64_t got = 0;
    while (got < count * row_bytes) {
      const ssize_t size =
          pread(file, reinterpret_cast<char*>(values.data()) + got,
                static_cast<size_t>(count * row_bytes - got), offset + got);
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) break;
      got += size;
    }
    if (got < count * row_bytes) {
      status = Fail("AUDIT-0013", ExitCode::kInput, "the file became shorter", path,
                    "leave it alone while it is audited, and run again");
      break;
    }
    offset += got;
    hashes.resize(static_cast<size_t>(count));
    HashRows(std::span<const float>(values).first(static_cast<size_t>(count * columns)),
             columns, hashes);
    status = search.Add(hashes);
  }
  close(file);
  return status;
}

// Any other table, batch by batch.
base::Result<int64_t> HashTable(const std::string& path, const AuditOptions& options,
                                DuplicateSearch& search) {
  SS_TRY(const auto source,
         data::OpenTable(path, {.schema = options.schema, .batch_rows = kBatchRows}));
  std::vector<int64_t> columns;
  const data::Table& layout = source->layout();
  for (size_t at = 0; at < layout.columns.size(); ++at) {
    const data::ColumnRole role = layout.columns[at].role;
    if (role != data::ColumnRole::kId && role != data::ColumnRole::kSplit) {
      columns.push_back(static_cast<int64_t>(at));
    }
  }
  data::Table batch;
  int64_t rows = 0;
  for (;;) {
    SS_TRY(const bool any, source->Next(batch));
    if (!any) return rows;
    SS_RETURN_IF_ERROR(
        search.Add(HashRows(batch, columns, CellForm::kExact, options.threads)));
    rows += batch.rows;
  }
}

base::Result<int64_t> HashFile(const std::string& path, const AuditOptions& options,
                               DuplicateSearch& search) {
  if (path.ends_with(".npy")) {
    SS_TRY(const record::MappedArray array, record::MapNpy(path));
    const auto& shape = array.shape();
    if (array.dtype() == "<f4" && shape.size() == 2 && shape[1] > 0) {
      SS_RETURN_IF_ERROR(HashMatrix(path, shape[0], shape[1], search));
      return shape[0];
    }
  }
  return HashTable(path, options, search);
}

}  // namespace

base::Result<DataAudit> AuditInPieces(const std::string& path,
                                      const AuditOptions& options) {
  DataAudit audit;
  audit.source = path;
  audit.kind = "table";
  audit.split = "none given";
  DuplicateSearch search;
  if (base::IsFolder(path)) {
    SS_TRY(auto names, base::ListFolder(path));
    std::ranges::sort(names);
    const bool arrays = std::ranges::any_of(
        names, [](const std::string& name) { return name.ends_with(".npy"); });
    if (arrays) {
      for (const std::string& name : names) {
        if (!name.ends_with(".npy")) {
          audit.notes.push_back("not read: " + name);
          continue;
        }
        SS_TRY(const int64_t rows,
               HashFile(base::JoinPath(path, name), options, search));
        audit.rows += rows;
      }
    } else {
      SS_TRY(audit.rows, HashTable(path, options, search));
    }
  } else {
    SS_TRY(audit.rows, HashFile(path, options, search));
  }
  SS_TRY(const DuplicateGroups found, search.Finish(options.threads));
  audit.notes.push_back(fmt::format(
      "read in pieces; rows are known by a 64-bit hash: two different ones are taken "
      "for "
      "equal with probability {:.1g}",
      static_cast<double>(audit.rows) * static_cast<double>(audit.rows) / 3.7e19));
  const std::string reason = fmt::format(
      "{} distinct of {}; {} rows in {} duplicate groups, the largest of {}",
      found.distinct, found.rows, found.in_groups, found.count(), found.largest);
  std::optional<Finding> finding;
  if (found.count() > 0) {
    finding.emplace();
    finding->kind = "exact bytes";
    finding->leakage_type = leakage::kDuplicates;
    finding->rows = found.in_groups;
    finding->share =
        static_cast<double>(found.in_groups) / static_cast<double>(found.rows);
    finding->share_of = "rows";
    finding->facts = {{"distinct", found.distinct},
                      {"duplicate_groups", found.count()},
                      {"largest_group", found.largest}};
    for (int64_t g = 0; g < found.count() && finding->examples.size() < kMostExamples;
         ++g) {
      const auto members = found.Group(g);
      finding->examples.push_back(
          fmt::format("row {} = row {}", members[0], members[1]));
    }
    finding->metric_reason = "the table is larger than the memory of a learner";
    finding->text = reason;
  }
  Report(audit, "exact_duplicates", std::move(finding), reason, audit.rows);
  for (const char* id :
       {"twins_across_split", "canonical_duplicates", "near_duplicates",
        "group_overlap", "family_names", "nearest_neighbours", "probes"}) {
    ReportNotRun(
        audit, id,
        fmt::format("more than {} MiB: only exact duplicates are searched; audit "
                    "a part of it for the rest",
                    options.most_bytes >> 20));
  }
  return audit;
}

}  // namespace stepslack::audit
