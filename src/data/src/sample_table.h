// A small CSV table that goes with arrays of samples: which design a sample belongs to,
// what a channel is called.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ingest_layout.h"
#include "stepslack/base/result.h"

namespace stepslack::data {

struct SampleTable {
  std::string file;
  std::vector<std::string> header;             // lower case
  std::vector<std::vector<std::string>> rows;  // all as long as the header

  // Position of the first of `names` that is a column.
  std::optional<size_t> Column(std::initializer_list<std::string_view> names) const;
  std::optional<size_t> GroupColumn() const;  // family, group or design
};

// Comma separated, first line is the header, double quotes allowed. DATA-0050 for a row
// of another length than the header or a quote without end.
base::Result<SampleTable> ParseSampleTable(std::string_view text,
                                           std::string_view name);

struct TableSearch {
  std::optional<SampleTable> samples;   // has a column family, group or design
  std::optional<SampleTable> channels;  // the file channels.csv
};

// Reads the CSV files of the folder; those without a use are recorded as skipped. A
// second table of samples is refused (DATA-0051): which one is right cannot be known.
base::Result<TableSearch> FindTables(const FolderListing& listing,
                                     IngestResult& result);

// Channels from the table or, when it is absent, from their number. DATA-0033 when the
// table does not fit.
base::Result<std::vector<Channel>> NameChannels(const std::optional<SampleTable>& table,
                                                int64_t count,
                                                std::vector<std::string>& notes);

// Brings current given in A, mA or nA to uA: the factor, and `channel.unit` is updated.
double ToOurUnit(Channel& channel);

// Factor from the target's unit to mV, from a word of the file name (mV, V, uV).
double TargetScale(std::string_view file, std::vector<std::string>& notes);

// Group, id and source of one sample.
struct SampleName {
  std::string id;
  std::string group;
  std::string source;
};

// Names of `count` samples in array order; without a table every sample is its own
// group and a note says so. DATA-0032 wrong number of rows, DATA-0035 bad index column,
// DATA-0036 an id that occurs twice.
base::Result<std::vector<SampleName>> NameSamples(
    const std::optional<SampleTable>& table, int64_t count, const std::string& source,
    std::vector<std::string>& notes);

// "family" and "3" make "family-3"; a value that is not a number stands for itself.
std::string GroupName(std::string_view column, std::string_view value);

}  // namespace stepslack::data
