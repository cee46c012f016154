// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Refrain
import TestSupport

/// One of several processes that share a directory: random operations, after each of which it
/// measures the directory. A wrong byte, a size above the limit or an unexpected error ends it with
/// a message and status 1; otherwise it reports the number of completed operations first.
struct SharingProcess {
  private enum Operation { case play, cancel, prefetch, remove, pin }

  private static let operations: [Operation] = [
    .play, .play, .play, .cancel, .prefetch, .remove, .pin,
  ]

  private let (cache, origin, seed): (MediaCache, URL, UInt64)
  private let directory: String
  private var random: SeededGenerator
  private var step = "open"
  private var pinned: Resource?
  private var refusals: [String: Int] = [:]
  private var most: Int64 = 0

  init(_ cache: MediaCache, _ directory: URL, _ origin: URL, seed: UInt64) {
    (self.cache, self.origin, self.seed) = (cache, origin, seed)
    self.directory = directory.path(percentEncoded: false)
    random = SeededGenerator(seed: seed)
  }

  mutating func run() async {
    let start = ContinuousClock.now
    var (count, completed) = (0, 0)
    while SharedLoad.continues(after: count, since: start) {
      count += 1
      let operation = Self.operations.randomElement(using: &random) ?? .play
      let number = random.number(below: SharedLoad.lengths.count)
      step = "operation \(count), \(operation) of \(SharedLoad.name(number))"
      do {
        try await perform(operation, number)
        completed += 1
      } catch let error as MediaCacheError where Self.isExpected(error) {
        refusals["\(operation): \(error.code)", default: 0] += 1
      } catch {
        fail("\(error)")
      }
      measure()
    }
    step = "close"
    await cache.close()
    measure()
    let text = "\(completed) of \(count) operations, seed \(seed), at most \(most) bytes"
    Standard.write(Data("\(text); not completed: \(refusals)\n".utf8))
  }

  private mutating func perform(_ operation: Operation, _ number: Int) async throws {
    let resource = Resource(url: origin.appending(path: SharedLoad.name(number)))
    let bytes = SyntheticBytes(seed: UInt64(number))
    let range = range(in: number)
    switch operation {
    case .play:
      let reader = try await cache.open(resource)
      defer { reader.cancel() }
      // Seeks, also in the middle of a range.
      for _ in 0...random.number(below: 4) {
        let chunks = random.chance(1, in: 4) ? 2 : Int.max
        try await read(self.range(in: number), of: bytes, reader, chunks: chunks)
      }
    case .cancel:
      let reader = try await cache.open(resource)
      defer { reader.cancel() }
      let reading = Task { try await reader.bytes(in: range) }
      for _ in 0..<random.number(below: 200) { await Task.yield() }
      if random.chance(1, in: 2) { reading.cancel() } else { reader.cancel() }
      do {
        check(try await reading.value, of: bytes, at: range.lowerBound)
      } catch is CancellationError {}
    case .prefetch:
      try await cache.prefetch(resource, range: random.chance(1, in: 2) ? range : nil)
    case .remove: try await cache.remove(cache.key(for: resource))
    case .pin:
      // One at a time.
      if let pinned { try await cache.unpin(pinned) } else { try await cache.pin(resource) }
      pinned = pinned == nil ? resource : nil
    }
  }

  /// Returns a range of up to half of a resource.
  private mutating func range(in number: Int) -> ByteRange {
    let length = SharedLoad.lengths[number]
    let start = Int64.random(in: 0..<length, using: &random)
    return start..<min(length, start + Int64.random(in: 1...length / 2, using: &random))
  }

  private func read(
    _ range: ByteRange, of bytes: SyntheticBytes, _ reader: MediaReader, chunks: Int
  ) async throws {
    var (offset, left) = (range.lowerBound, chunks)
    for try await chunk in reader.chunks(in: range) {
      check(chunk, of: bytes, at: offset)
      offset += Int64(chunk.count)
      left -= 1
      if left == 0 { return }
    }
    if offset != range.upperBound { fail("the bytes in \(range) end at \(offset)") }
  }

  private func check(_ data: Data, of bytes: SyntheticBytes, at offset: Int64) {
    let range = offset..<offset + Int64(data.count)
    if !areEqual(data, bytes.bytes(in: range)) { fail("a byte in \(range) is wrong") }
  }

  private mutating func measure() {
    let bytes = allocatedBytes(directory, checking: SharedLoad.limit)
    if bytes > SharedLoad.limit { fail("\(bytes) bytes are above \(SharedLoad.limit)") }
    most = max(most, bytes)
  }

  /// Whether another process has the entry or has removed it, or there is no room.
  private static func isExpected(_ error: MediaCacheError) -> Bool {
    switch error.code {
    case .inUse, .resourceChanged: true
    case .storage: error.hasNoRoom || error.remedy.hasPrefix("Try again")
    default: false
    }
  }

  private func fail(_ text: String) -> Never {
    Standard.write(Data("seed \(seed), \(step): \(text)\n".utf8))
    exit(1)
  }
}
