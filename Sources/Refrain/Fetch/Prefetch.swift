// SPDX-License-Identifier: MIT
import Foundation

/// Brings a range into the cache: a reader in the background that goes from hole to hole and reads
/// nothing.
struct Prefetch: Sendable {
  let reader: MediaReader
  let range: ByteRange
  let report: (@Sendable (MediaCache.PrefetchProgress) -> Void)?

  private static let reportInterval: Duration = .milliseconds(100)

  func run() async throws -> ContentInformation {
    defer { reader.cancel() }
    reader.setEnd(range.upperBound)
    let reporter = Task { await reportRegularly() }
    defer { reporter.cancel() }
    // Once more from the start where the resource has changed on the way.
    for _ in 0..<3 where try await !isStored() { try await bring() }
    let information = try await reader.contentInformation()
    reporter.cancel()
    await reporter.value
    reportNow(information)
    return information
  }

  private func isStored() async throws -> Bool {
    let length = try await reader.contentInformation().length
    guard let length else { return false }
    let wanted = range.clamped(to: 0..<max(length, 0))
    return reader.cachedSpans.byteCount(in: wanted) == wanted.upperBound - wanted.lowerBound
  }

  private func bring() async throws {
    var offset = range.lowerBound
    while offset < range.upperBound {
      try Task.checkCancellation()
      let readable = try await reader.waitUntilReadable(at: offset)
      if readable.isEmpty { break }
      guard reader.isStoring || reader.cachedSpans.contains(offset) else {
        throw GenerationState.noRoom
      }
      offset = min(readable.upperBound, range.upperBound)
    }
  }

  private func reportRegularly() async {
    guard report != nil else { return }
    while !Task.isCancelled {
      do { try await Task.sleep(for: Self.reportInterval) } catch { return }
      reportNow(reader.knownInformation)
    }
  }

  private func reportNow(_ information: ContentInformation?) {
    guard let report else { return }
    let end = information?.length.map { min($0, range.upperBound) } ?? range.upperBound
    let total = end == .max ? nil : max(0, end - range.lowerBound)
    report(
      .init(
        storedBytes: reader.cachedSpans.byteCount(in: range), totalBytes: total,
        bytesFromOrigin: reader.statistics.bytesFromOrigin))
  }
}
