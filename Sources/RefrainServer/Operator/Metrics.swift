// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainProxy

struct Metrics: Sendable {
  var node: String
  var isDraining: Bool
  var connections: Int
  var traffic: Traffic.Values
  var purgedEntries: Int64
  var cache: MediaCache.Figures
  var process: ProcessFigures

  var text: String {
    var text = MetricsText()
    text.gauge("refrain_node_info", "The node.", 1, [("node", node)])
    text.gauge("refrain_draining", "Whether the node is about to end.", isDraining ? 1 : 0)
    writeTraffic(&text)
    writeCache(&text)
    text.gauge("process_open_fds", "Open file descriptors.", process.openDescriptors)
    text.gauge("process_max_fds", "The limit of open file descriptors.", process.mostDescriptors)
    text.gauge("process_resident_memory_bytes", "Resident memory.", process.residentBytes)
    text.gauge("process_threads", "Threads.", process.threads)
    return text.exposition
  }

  private func writeTraffic(_ text: inout MetricsText) {
    let sources = ServedRequest.Source.allCases.map { [("source", $0.rawValue)] }
    text.counter(
      "refrain_requests_total", "Requests of clients that ended, by the source of the response.",
      Array(zip(sources, traffic.requests)))
    text.counter(
      "refrain_sent_bytes_total", "Bytes of bodies sent to clients, by their source.",
      Array(zip(sources, traffic.sentBytes)))
    text.counter(
      "refrain_saved_bytes_total",
      "Bytes sent to clients that were stored before their requests came.", traffic.savedBytes)
    text.counter(
      "refrain_request_errors_total", "Requests that ended with an error.", traffic.errors)
    text.counter(
      "refrain_purged_entries_total", "Entries that the operator has purged.", purgedEntries)
    text.gauge("refrain_connections", "Connected clients.", Int64(connections))
    text.summary(
      "refrain_time_to_first_byte_seconds",
      "The time from a request to the head of its response, counted when the response ends. Without "
        + "the proxy's own responses.", count: traffic.firstBytes, sum: traffic.firstByteSeconds)
  }

  private func writeCache(_ text: inout MetricsText) {
    text.counter(
      "refrain_origin_requests_total", "Requests sent to origins.",
      cache.originRequests + traffic.relayedRequests)
    text.counter(
      "refrain_origin_bytes_total", "Bytes of bodies received from origins.",
      cache.originBytes + traffic.relayedBytes)
    text.counter(
      "refrain_evictions_total", "Entries removed to make room, all or in part.", cache.evictions)
    text.counter(
      "refrain_evicted_bytes_total", "Disk space that evictions freed.", cache.evictedBytes)
    text.gauge("refrain_disk_used_bytes", "Disk space of the cache.", cache.usedBytes)
    text.gauge("refrain_disk_limit_bytes", "The limit of the cache.", cache.limit)
    text.gauge("refrain_open_entries", "Entries in use.", Int64(cache.openEntries))
    text.gauge("refrain_readers", "Readers of entries.", Int64(cache.readers))
  }
}

/// The resources that this process uses; nil where the system does not report them.
struct ProcessFigures: Sendable, Hashable {
  var openDescriptors: Int64?
  var mostDescriptors: Int64?
  var residentBytes: Int64?
  var threads: Int64?

  /// Reads /proc (proc(5)), which does not wait for a disk.
  static func now() -> ProcessFigures {
    var figures = ProcessFigures()
    figures.mostDescriptors = Int64(DescriptorBudget.limit)
    #if os(Linux)
      let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
      // One is that of the directory itself.
      figures.openDescriptors = names.map { Int64(max(0, $0.count - 1)) }
      let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
      for line in status.split(separator: "\n") {
        let parts = line.split { $0 == ":" || $0 == "\t" || $0 == " " }
        guard parts.count >= 2, let value = Int64(parts[1]) else { continue }
        if parts[0] == "VmRSS" { figures.residentBytes = value * 1024 }
        if parts[0] == "Threads" { figures.threads = value }
      }
    #endif
    return figures
  }
}
