// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import NIOPosix
import RefrainLocks

/// Detects the loss of a listening socket of which no event is reported: iOS takes it from a
/// suspended program (Apple's Technical Note TN2277).
final class ListenerProbe: Sendable {
  /// The time between two calls of `beat()` while the program runs.
  static let pace = Duration.seconds(2)
  /// A program that was silent for longer was probably suspended.
  private static let longestSilence = Duration.seconds(6)

  private let lastBeat = Mutex(ContinuousClock.now)

  /// Records that the program runs. Returns whether it was probably suspended before.
  func beat() -> Bool {
    let now = ContinuousClock.now
    return lastBeat.withLock { last in
      defer { last = now }
      return now - last > Self.longestSilence
    }
  }

  /// Returns whether connections to a listening socket are refused. Any other failure may have
  /// another reason, such as too many clients.
  static func isRefused(at channel: any Channel) async -> Bool {
    guard let address = channel.localAddress else { return false }
    do {
      let client = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .connectTimeout(.seconds(1)).connect(to: address).get()
      client.close(promise: nil)
      return false
    } catch let error as IOError {
      return error.errnoCode == ECONNREFUSED
    } catch {
      return false
    }
  }
}
