// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Synchronization

/// What all requests of one asset share: one version of the resource, opened when the first of them
/// needs it and held until the asset goes. AVFoundation reads in several places at once, and puts
/// together what it is given: it must not be given two versions.
final class AssetSession: Sendable {
  /// The resource as it was found.
  struct Opened: Sendable {
    /// Settled: it stays with its version. It reads nothing but the first bytes.
    let reader: MediaReader
    /// As it was named.
    let location: Resource
    let information: ContentInformation
    /// A uniform type identifier; nil where neither the origin nor the bytes tell.
    let contentType: String?

    /// Whether AVFoundation has to load it by itself, from where it is: an HTTP Live Stream, whose
    /// segments cannot come by way of a delegate, and whatever has no length (radio, the output of a
    /// transcoder), which AVPlayer does not play from a delegate.
    var isRedirected: Bool {
      information.length == nil || contentType.map(ContentType.isPlaylist) == true
    }
  }

  private enum State {
    case idle
    case opening(Task<Opened, any Error>)
    case opened(Opened)
    case ended

    /// - Returns: what it is now: no longer idle.
    mutating func begin(_ open: () -> Task<Opened, any Error>) -> State {
      if case .idle = self { self = .opening(open()) }
      return self
    }
  }

  let cache: MediaCache
  let resource: Resource
  private let fill: FillPolicy?
  private let state = Mutex(State.idle)
  private let given = Mutex(Given())

  /// What AVFoundation was given so far.
  private struct Given {
    var bytes: Int64 = 0
    /// Of these, what was stored before the session opened. What is read twice counts once.
    var fromDisk = RangeSet<Int64>()
    var failure: MediaCacheError?
  }

  init(cache: MediaCache, resource: Resource, fill: FillPolicy?) {
    self.cache = cache
    self.resource = resource
    self.fill = fill
  }

  deinit { end() }

  /// Opens it, or waits for that. Where it failed, the next call tries again.
  func open() async throws -> Opened {
    let task: Task<Opened, any Error>
    switch state.withLock({
      $0.begin { [cache, resource, fill] in
        Task { try await Self.open(cache, resource, fill) }
      }
    }) {
    case .opened(let opened): return opened
    case .opening(let opening): task = opening
    case .idle, .ended: throw CancellationError()
    }
    do {
      let opened = try await task.value
      state.withLock { state in
        if case .opening(task) = state { state = .opened(opened) }
      }
      return opened
    } catch {
      state.withLock { state in
        if case .opening(task) = state { state = .idle }
      }
      throw error
    }
  }

  private static func open(
    _ cache: MediaCache, _ resource: Resource, _ fill: FillPolicy?
  ) async throws -> Opened {
    let reader = try await cache.open(resource, fill: fill)
    let information = try await reader.settle().information
    let pathExtension = resource.url.pathExtension
    var type = ContentType.declared(
      mimeType: information.mimeType, pathExtension: pathExtension)
    if type == nil {
      type = ContentType.sniffed(try await reader.bytes(in: 0..<Int64(ContentType.sniffLength)))
    }
    // It stays for what it knows. Requests are answered by readers of their own.
    reader.rest()
    let opened = Opened(
      reader: reader, location: resource, information: information, contentType: type)
    // Nothing is read of it here: a station would be received twice.
    if opened.isRedirected {
      reader.cancel()
      guard !cache.isOffline else { throw LoadingError.redirectedOffline(resource.url) }
    }
    return opened
  }

  // MARK: What came of it

  /// Bytes were given to AVFoundation.
  func count(_ range: ByteRange, of opened: Opened) {
    let stored = RangeSet(range).intersection(opened.reader.spansBefore)
    given.withLock { given in
      given.bytes += Int64(range.count)
      given.fromDisk.formUnion(stored)
    }
  }

  /// A request was finished, with an error or without. Being called off is neither.
  func note(_ error: (any Error)?) {
    if error is CancellationError { return }
    given.withLock { $0.failure = error as? MediaCacheError }
  }

  /// Why the last request failed that was finished, if it did.
  var failure: MediaCacheError? { given.withLock { $0.failure } }

  /// Whether AVFoundation was sent on to load it by itself; false before it is open.
  var isRedirected: Bool {
    guard case .opened(let opened) = state.withLock({ $0 }) else { return false }
    return opened.isRedirected
  }

  /// Nil before it is open.
  var statistics: MediaReader.Statistics? {
    guard case .opened(let opened) = state.withLock({ $0 }) else { return nil }
    var statistics = opened.reader.statistics
    let given = given.withLock { $0 }
    statistics.bytesRead = given.bytes
    statistics.bytesFromDisk = given.fromDisk.ranges.reduce(0) { $0 + Int64($1.count) }
    return statistics
  }

  /// Stops opening, and lets go of what was opened. Final.
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
