// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks

/// Determines whether a proxy can serve. Trials of the disk and of the origin are shared by all who
/// ask, and repeated at most once in a while.
final class HealthCheck: Sendable {
  struct Report: Sendable, Hashable, Encodable {
    enum Status: String, Sendable, Hashable, Encodable {
      case healthy
      /// It serves, and is about to end: new clients go elsewhere.
      case draining
      case failing
    }

    var status: Status
    var node: String
    /// `works`, `full`, or what failed.
    var disk: String
    /// `answers`, or what failed; nil unless it was asked for.
    var origin: String?

    /// A full disk is no failure: stored bytes are served, and others passed on.
    init(isDraining: Bool, node: String, disk: MediaCache.DiskTrial, origin: String?) {
      self.node = node
      var isFailing = false
      switch disk {
      case .works: self.disk = "works"
      case .full: self.disk = "full"
      case .fails(let reason):
        self.disk = reason
        isFailing = true
      }
      self.origin = origin
      if let origin, origin != HealthCheck.answers { isFailing = true }
      status = isFailing ? .failing : isDraining ? .draining : .healthy
    }

    /// 200 if balancers should send requests here, else 503.
    var httpStatus: Int { status == .healthy ? 200 : 503 }
  }

  static let answers = "answers"

  private struct Trial<Value: Sendable>: Sendable {
    var task: Task<Value, Never>
    var began: ContinuousClock.Instant
    var done: Done
  }

  private let cache: MediaCache
  private let disk = Mutex<Trial<MediaCache.DiskTrial>?>(nil)
  private let origin = Mutex<Trial<String>?>(nil)

  /// The time between two trials, and the longest wait for one: balancers usually wait for two
  /// seconds or longer.
  private static let pace = Duration.seconds(1)
  private static let longestTrial = Duration.milliseconds(1500)

  init(cache: MediaCache) { self.cache = cache }

  /// - Parameter originURL: the origin to ask as well; nil: none.
  func report(isDraining: Bool, node: String, asking originURL: URL?) async -> Report {
    let disk = await diskTrial()
    var origin: String?
    if let originURL { origin = await originTrial(originURL) }
    return Report(isDraining: isDraining, node: node, disk: disk, origin: origin)
  }

  private func diskTrial() async -> MediaCache.DiskTrial {
    let cache = cache
    let trial = Self.current(disk) { await cache.tryDisk() }
    return await Self.result(of: trial)
      ?? .fails("The disk has not completed a small write in \(Self.longestTrial).")
  }

  private func originTrial(_ url: URL) async -> String {
    let cache = cache
    let trial = Self.current(origin) { await Self.ask(url, cache) }
    return await Self.result(of: trial)
      ?? "The origin has not answered in \(Self.longestTrial)."
  }

  /// Returns the running trial, or the last one if it is recent, or a new one.
  private static func current<Value: Sendable>(
    _ state: borrowing Mutex<Trial<Value>?>, _ work: @Sendable @escaping () async -> Value
  ) -> Trial<Value> {
    state.withLock { trial in
      // One that hangs is not repeated: each would take a thread for as long.
      if let trial, !trial.done.isSet || ContinuousClock.now - trial.began < pace {
        return trial
      }
      let done = Done()
      let task = Task {
        let value = await work()
        done.set()
        return value
      }
      let new = Trial(task: task, began: .now, done: done)
      trial = new
      return new
    }
  }

  /// Returns the result of a trial; nil if it takes too long.
  private static func result<Value: Sendable>(of trial: Trial<Value>) async -> Value? {
    if trial.done.isSet { return await trial.task.value }
    let left = longestTrial - (ContinuousClock.now - trial.began)
    // Whoever waits for a trial that hangs waits as long as it does.
    guard left > .zero else { return nil }
    return await value(of: trial.task, within: left)
  }

  /// Any response shows that the origin is there, unless it is a server error.
  private static func ask(_ url: URL, _ cache: MediaCache) async -> String {
    guard !cache.isOffline else { return "The cache is offline." }
    do {
      var fields = HeaderFields()
      fields.addDefaults()
      let request = RelayedRequest(method: "HEAD", url: url, headers: fields)
      let response = try await cache.relayingTransport.relay(request)
      guard response.status >= 500 else { return answers }
      return "The origin answered \(response.status)."
    } catch {
      return "\(error)"
    }
  }
}

private final class Done: Sendable {
  private let flag = Atomic(false)

  func set() { flag.store(true, ordering: .releasing) }

  var isSet: Bool { flag.load(ordering: .acquiring) }
}
