// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks
import RefrainProxy

final class HealthCheck: Sendable {
  struct Report: Sendable, Hashable, Encodable {
    enum Status: String, Sendable, Hashable, Encodable {
      case healthy
      /// Serves, and is about to end: new clients go elsewhere.
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
    init(isDraining: Bool, node: String, disk: String, origin: String?) {
      (self.node, self.disk, self.origin) = (node, disk, origin)
      let isFailing =
        !["works", "full"].contains(disk) || (origin ?? HealthCheck.answers) != HealthCheck.answers
      status = isFailing ? .failing : isDraining ? .draining : .healthy
    }

    /// 200 if balancers should send requests here, else 503.
    var httpStatus: Int { status == .healthy ? 200 : 503 }
  }

  static let answers = "answers"

  private let proxy: ProxyService
  private let disk = Trial<String>()
  private let origin = Trial<String>()

  init(of proxy: ProxyService) { self.proxy = proxy }

  /// Throws 400 if `asksOrigin` and there is no single origin.
  func report(asksOrigin: Bool = false) async throws(HTTPError) -> Report {
    guard !asksOrigin || proxy.origin != nil else {
      throw HTTPError(400, "This proxy serves many origins. Omit the parameter 'origin'.")
    }
    let disk =
      await disk.value { [cache = proxy.cache] in await cache.tryDisk() }
      ?? "The disk has not completed a small write in \(longestTrial)."
    var answer: String?
    if asksOrigin, let origin = proxy.origin {
      answer =
        await self.origin.value { [cache = proxy.cache] in await Self.ask(origin, cache) }
        ?? "The origin has not answered in \(longestTrial)."
    }
    return Report(
      isDraining: proxy.isEnding, node: proxy.nodeName, disk: disk, origin: answer)
  }

  /// Any response shows that the origin is there, unless it is a server error.
  private static func ask(_ url: URL, _ cache: MediaCache) async -> String {
    guard !cache.isOffline else { return "The cache is offline." }
    do {
      var fields = HeaderFields()
      fields.addDefaults()
      let request = OriginRequest(relaying: "HEAD", url: url, headers: fields)
      let response = try await cache.relayingTransport.send(request)
      guard response.status >= 500 else { return answers }
      return "The origin answered \(response.status)."
    } catch {
      return "\(error)"
    }
  }
}

/// The time between two trials, and at most for one: balancers usually wait two seconds or more.
private let pace = Duration.seconds(1)
private let longestTrial = Duration.milliseconds(1500)

/// Work whose result is shared by all who ask for it, and repeated at most once in a while.
private final class Trial<Value: Sendable>: Sendable {
  private struct Run {
    let began = ContinuousClock.now
    var value: Value?
  }

  private let state = Mutex<Run?>(nil)

  /// Returns nil if the work takes too long.
  func value(_ work: @Sendable @escaping () async -> Value) async -> Value? {
    state.withLock { run in
      // One that hangs is not repeated: each would take a thread for as long.
      if let run, run.value == nil || ContinuousClock.now - run.began < pace { return }
      run = Run()
      Task {
        let value = await work()
        self.state.withLock { $0?.value = value }
      }
    }
    while let run = state.withLock(\.self) {
      if let value = run.value { return value }
      // From the beginning of the trial: whoever asks later while it hangs does not wait again.
      guard ContinuousClock.now - run.began < longestTrial,
        (try? await Task.sleep(for: .milliseconds(5))) != nil
      else { return nil }
    }
    return nil
  }
}
