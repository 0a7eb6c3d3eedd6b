#include "stepslack/trace/nccl_debug.h"

namespace stepslack::trace {
namespace {

base::Json LinksToJson(const NcclDebugLog& log) {
  base::Json::Array links;
  for (const NcclLink& link : log.links) {
    base::Json item;
    item.Set("host", link.host);
    item.Set("source", link.source);
    item.Set("target", link.target);
    item.Set("direction", link.direction);
    item.Set("transport", link.transport);
    item.Set("gpu_direct", link.gpu_direct);
    item.Set("channels", link.channels);
    links.push_back(std::move(item));
  }
  return base::Json(std::move(links));
}

base::Json ProcessesToJson(const NcclDebugLog& log) {
  base::Json::Array processes;
  for (const NcclProcess& process : log.processes) {
    base::Json item;
    item.Set("host", process.host);
    item.Set("process", process.process);
    item.Set("device", process.device);
    item.Set("network", process.network);
    item.Set("lines", process.lines);
    item.Set("ranks", base::Json::Array(process.ranks.begin(), process.ranks.end()));
    processes.push_back(std::move(item));
  }
  return base::Json(std::move(processes));
}

base::Json SettingsToJson(const NcclDebugLog& log) {
  base::Json::Array settings;
  for (const NcclSetting& setting : log.settings) {
    base::Json item;
    item.Set("name", setting.name);
    item.Set("value", setting.value);
    item.Set("lines", setting.lines);
    item.Set("hosts", base::Json::Array(setting.hosts.begin(), setting.hosts.end()));
    settings.push_back(std::move(item));
  }
  return base::Json(std::move(settings));
}

base::Json WarningsToJson(const NcclDebugLog& log) {
  base::Json::Array warnings;
  for (const NcclWarning& warning : log.warnings) {
    base::Json item;
    item.Set("text", warning.text);
    item.Set("lines", warning.lines);
    item.Set("first_offset_bytes", warning.first_offset);
    item.Set("hosts", base::Json::Array(warning.hosts.begin(), warning.hosts.end()));
    warnings.push_back(std::move(item));
  }
  return base::Json(std::move(warnings));
}

}  // namespace

base::Json ToJson(const NcclDebugLog& log) {
  base::Json json;
  json.Set("versions", base::Json::Array(log.versions.begin(), log.versions.end()));
  json.Set("processes", ProcessesToJson(log));
  json.Set("links", LinksToJson(log));
  json.Set("settings", SettingsToJson(log));
  json.Set("warnings", WarningsToJson(log));
  base::Json::Array interfaces;
  for (const NcclInterface& interface : log.interfaces) {
    base::Json item;
    item.Set("kind", interface.kind);
    item.Set("name", interface.name);
    item.Set("host", interface.host);
    interfaces.push_back(std::move(item));
  }
  json.Set("interfaces", std::move(interfaces));
  base::Json communicators(base::Json::Object{});
  for (const auto& [id, ranks] : log.communicators) communicators.Set(id, ranks);
  json.Set("communicators", std::move(communicators));
  json.Set("ring_channels", log.ring_channels);
  json.Set("collective_channels", log.collective_channels);
  json.Set("p2p_channels", log.p2p_channels);
  json.Set("has_trees", log.has_trees);
  base::Json::Array facts;
  for (const NcclFact& fact : log.facts) {
    base::Json item;
    item.Set("name", fact.name);
    item.Set("text", fact.text);
    item.Set("lines", fact.lines);
    item.Set("first_offset_bytes", fact.first_offset);
    facts.push_back(std::move(item));
  }
  json.Set("facts", std::move(facts));
  json.Set("import", ToJson(log.stats));
  return json;
}

}  // namespace stepslack::trace
