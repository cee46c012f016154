// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks

/// The state that all requests of one asset share: one version of the resource, opened on the first
/// request and held until the asset is released. AVFoundation reads at several positions at once
/// and combines the bytes, which must not come from two versions.
final class AssetSession: Sendable {
  struct Opened: Sendable {
    /// A settled reader, which keeps its version. It reads only the first bytes.
    let reader: MediaReader
    /// The resource as the app named it.
    let location: Resource
    let information: ContentInformation
    /// A uniform type identifier; nil if neither the origin nor the bytes show one.
    let contentType: String?

    /// Whether AVFoundation has to load the resource itself, from its origin: an HTTP Live Stream,
    /// whose segments cannot come through a delegate, or a resource without a length (radio, the
    /// output of a transcoder), which AVPlayer does not play from a delegate.
    var isRedirected: Bool {
      information.length == nil || contentType.map(ContentType.isPlaylist) == true
    }
  }

  private enum State {
    case idle
    case opening(Task<Opened, any Error>)
    case opened(Opened)
    case ended
  }

  let cache: MediaCache
  let resource: Resource
  private let fill: FillPolicy?
  private let state = Mutex(State.idle)
  private let given = Mutex(Given())

  private struct Given {
    var bytes: Int64 = 0
    /// The part that was stored before the session opened. Bytes read twice count once.
    var fromDisk = RangeSet<Int64>()
    var failure: MediaCacheError?
  }

  init(cache: MediaCache, resource: Resource, fill: FillPolicy?) {
    self.cache = cache
    self.resource = resource
    self.fill = fill
  }

  deinit { end() }

  /// Opens the resource, or waits until it is open. After a failure, the next call tries again.
  func open() async throws -> Opened {
    let current = state.withLock { [cache, resource, fill] state in
      if case .idle = state {
        state = .opening(Task { try await Self.open(cache, resource, fill) })
      }
      return state
    }
    switch current {
    case .opened(let opened): return opened
    case .idle, .ended: throw CancellationError()
    case .opening(let task):
      let result = await task.result
      state.withLock { state in
        guard case .opening(task) = state else { return }
        state = if case .success(let opened) = result { .opened(opened) } else { .idle }
      }
      return try result.get()
    }
  }

  private static func open(
    _ cache: MediaCache, _ resource: Resource, _ fill: FillPolicy?
  ) async throws -> Opened {
    let reader = try await cache.open(resource, fill: fill)
    let information = try await reader.settle().information
    var type = ContentType.declared(
      mimeType: information.mimeType, pathExtension: resource.url.pathExtension)
    // Without a length, the type does not matter.
    if type == nil, information.length != nil {
      type = ContentType.sniffed(
        try await firstBytes(of: reader), pathExtension: resource.url.pathExtension)
    }
    // The reader is kept for its information. Each request is served by a reader of its own.
    reader.rest()
    let opened = Opened(
      reader: reader, location: resource, information: information, contentType: type)
    // The resource is not read here: a station would be received twice.
    if opened.isRedirected {
      reader.cancel()
      guard !cache.isOffline else { throw LoadingError.redirectedOffline(resource.url) }
    }
    return opened
  }

  /// None if they cannot be read offline: others may be stored.
  private static func firstBytes(of reader: MediaReader) async throws -> Data {
    do {
      return try await reader.bytes(in: 0..<Int64(ContentType.sniffLength))
    } catch let error as MediaCacheError where error.code == .offline {
      return Data()
    }
  }

  // MARK: What came of it

  func count(_ range: ByteRange, of opened: Opened) {
    let stored = RangeSet(range).intersection(opened.reader.spansBefore)
    given.withLock { given in
      given.bytes += Int64(range.count)
      given.fromDisk.formUnion(stored)
    }
  }

  /// Records the result of a request. A cancelled request has none.
  func note(_ error: (any Error)?) {
    if error is CancellationError { return }
    given.withLock { $0.failure = error as? MediaCacheError }
  }

  var failure: MediaCacheError? { given.withLock { $0.failure } }

  var isRedirected: Bool {
    guard case .opened(let opened) = state.withLock({ $0 }) else { return false }
    return opened.isRedirected
  }

  var statistics: MediaReader.Statistics? {
    guard case .opened(let opened) = state.withLock({ $0 }) else { return nil }
    var statistics = opened.reader.statistics
    let given = given.withLock { $0 }
    statistics.bytesRead = given.bytes
    statistics.bytesFromDisk = given.fromDisk.ranges.reduce(0) { $0 + Int64($1.count) }
    return statistics
  }

  /// Stops opening, and releases the opened resource. Final.
  func end() {
    let before = state.withLock { state in
      defer { state = .ended }
      return state
    }
    switch before {
    case .opening(let task): task.cancel()
    case .opened(let opened): opened.reader.cancel()
    case .idle, .ended: break
    }
  }
}
