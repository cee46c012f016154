// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainProxy

/// Reads the configuration file of a running proxy again, and applies what can change. What cannot
/// is reported, and a file with an error changes nothing.
struct ServeReloading: Sendable {
  /// The options that can change while the proxy runs.
  static let changeable: Set<String> = [
    "allow-host", "limit", "max-connections", "max-client-connections", "request-rate",
    "limit-rate", "origin-rate", "hours", "log-level",
  ]

  /// What the proxy was started with.
  let start: ServeInvocation
  let proxy: CacheProxy
  let cache: MediaCache
  let threshold: LogThreshold
  /// The record from which `refrain url` knows the allowed hosts.
  let record: ProxyFile

  /// Reads the file at each request, one after the other, until the task is cancelled.
  func follow(_ requests: AsyncStream<Void>) async {
    var current = start
    for await _ in requests {
      do {
        current = try await reload(after: current)
      } catch let error as ConfigurationError {
        say(.error, "\(error) Nothing was changed.")
      } catch {
        say(.error, "\(start.path): \(error) Nothing was changed.")
      }
    }
  }

  private func reload(after current: ServeInvocation) async throws -> ServeInvocation {
    let next = try await IOThreads.background.run { try current.readAgain() }
    let (old, new) = (current.command, next.command)
    // All of it or nothing; what follows cannot fail.
    try proxy.update(new.settings)
    cache.originRate = new.limits.originRate
    threshold.level = new.options.logLevel
    if old.allowedHosts != new.allowedHosts { await note(new.allowedHosts) }
    if old.options.limit != new.options.limit {
      let isBelow = await cache.setLimit(new.options.limit.bytes)
      if !isBelow {
        say(
          .warning,
          "What is pinned or in use exceeds the new limit. Nothing more is stored before it is "
            + "unpinned or closed.")
      }
    }
    report(current.file.changes(to: next.file), start.file.changes(to: next.file))
    return next
  }

  private func report(_ changes: [String], _ changesSinceStart: [String]) {
    let later = changesSinceStart.filter { !Self.changeable.contains($0) }
    if !later.isEmpty {
      say(
        .warning,
        "\(start.path): \(later.joined(separator: ", ")): takes effect at the next start.")
    }
    let applied = changes.filter(Self.changeable.contains)
    say(
      .info,
      "\(start.path) was read again; "
        + (applied.isEmpty ? "nothing changed." : "changed: \(applied.joined(separator: ", "))."))
  }

  /// Stores the allowed hosts for `refrain url`.
  private func note(_ allowedHosts: [String]) async {
    do {
      try await IOThreads.background.run { [record] in
        guard var known = try record.read() else { return }
        known.allowedHosts = allowedHosts
        try record.replace(with: known)
      }
    } catch {
      say(.warning, "'refrain url' will not know the allowed hosts: \(error)")
    }
  }

  private func say(_ level: LogLevel, _ text: String) {
    guard threshold.includes(level) else { return }
    Console.shared.noteLater("refrain: \(printable(text))")
  }
}
