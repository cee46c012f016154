// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import Foundation
  import Refrain
  import RefrainLocks

  /// A file with holes and a list of its ranges. Each new request is split into stored ranges,
  /// which are read in pieces of 200 KiB, and missing ones, each of which is requested from the
  /// origin, to the end of the hole or of the request. Requests are independent of each other. As
  /// published by VIMediaCache; KTVHTTPCache's is similar.
  ///
  /// With `fill`, each request to the origin is at most that long.
  final class SparseFile: EarlierDesign {
    /// State kept from one launch of the app to the next.
    final class Stored: Sendable {
      fileprivate let ranges = Mutex(RangeSet<Int64>())
      fileprivate let length = Mutex<Int64?>(nil)
    }

    private static let piece = 204_800

    private let url: URL
    private let handle: FileHandle
    private let stored: Stored
    private let fill: Int64?
    private let transport: any Transport
    private let meter: Meter
    private let tasks = Mutex<[ObjectIdentifier: Task<Void, Never>]>([:])
    private let disk = Mutex(())

    init(
      _ url: URL, file: URL, stored: Stored, fill: Int64?, transport: any Transport, meter: Meter
    ) throws {
      self.url = url
      self.stored = stored
      self.fill = fill
      self.transport = transport
      self.meter = meter
      if !FileManager.default.fileExists(atPath: file.path) { try Data().write(to: file) }
      handle = try FileHandle(forUpdating: file)
    }

    func add(_ call: Call) {
      let task = Task { [weak self] in
        do { try await self?.answer(call) } catch { call.breakOff() }
      }
      tasks.withLock { $0[call.id] = task }
    }

    func cancel(_ call: Call) { tasks.withLock { $0.removeValue(forKey: call.id) }?.cancel() }

    func end() { for task in tasks.withLock({ Array($0.values) }) { task.cancel() } }

    private func answer(_ call: Call) async throws {
      // The plan is made once, from the ranges stored when the request comes.
      let there = stored.ranges.withLock { $0 }
      while true {
        let length = stored.length.withLock { $0 }
        if let length { call.describe(length: length) }
        let end = call.end(length: length ?? .max)
        let offset = call.offset
        guard offset < end else { break }
        if let range = there.ranges.first(where: { $0.contains(offset) }) {
          let piece = try read(offset..<min(range.upperBound, end))
          meter.hold(piece.count)
          call.give(piece)
          meter.letGo(piece.count)
          try Task.checkCancellation()
        } else {
          let next = there.ranges.first { $0.lowerBound > offset }?.lowerBound ?? .max
          try await fetch(offset..<min(next, end), for: call)
        }
      }
      call.finish()
    }

    private func read(_ range: Range<Int64>) throws -> Data {
      try disk.withLock { _ in
        try handle.seek(toOffset: UInt64(range.lowerBound))
        return try handle.read(upToCount: min(range.count, Self.piece)) ?? Data()
      }
    }

    private func fetch(_ hole: Range<Int64>, for call: Call) async throws {
      let limit = fill.map { hole.lowerBound + $0 } ?? .max
      let end = min(hole.upperBound, limit)
      let range = (from: hole.lowerBound, end: end == .max ? nil : end)
      let download = try await Download(url, range, by: transport)
      stored.length.withLock { $0 = download.length }
      call.describe(length: download.length)
      var offset = hole.lowerBound
      for try await chunk in download.body {
        try Task.checkCancellation()
        try disk.withLock { _ in
          try handle.seek(toOffset: UInt64(offset))
          try handle.write(contentsOf: chunk)
        }
        meter.wrote(media: chunk.count)
        let next = offset + Int64(chunk.count)
        stored.ranges.withLock { $0.insert(contentsOf: offset..<next) }
        call.give(chunk)
        offset = next
      }
    }
  }

#endif
