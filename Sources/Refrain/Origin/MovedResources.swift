// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks

/// The resources whose redirects led elsewhere when the origin confirmed the stored bytes, as long as
/// this process runs. A stored document stays at its earlier URL, since what it names is stored below
/// that, until the origin refuses the earlier URL: it may be that of a session, or have a token.
///
/// All methods may be called from any thread.
final class MovedResources: Sendable {
  struct Move: Sendable {
    /// The resource as it is requested.
    var resource: Resource
    /// Its newest URL after redirects.
    var target: URL
  }

  private static let capacity = 256

  /// By the earlier URLs.
  private let moves = Mutex<[String: Move]>([:])

  func note(_ resource: Resource, from earlier: URL, to target: URL) {
    moves.withLock { moves in
      if moves.count >= Self.capacity { moves = [:] }
      // So that no move leads back.
      moves[Self.text(target)] = nil
      moves[Self.text(earlier)] = Move(resource: resource, target: target)
    }
  }

  /// Returns the move away from a URL; nil if there was none.
  func move(from url: URL) -> Move? { moves.withLock { $0[Self.text(url)] } }

  private static func text(_ url: URL) -> String { url.withoutUserInfo.absoluteString }
}

extension MediaCacheError {
  /// Whether the origin refuses a URL that it has accepted before, or has forgotten it.
  package var refusesURL: Bool { status.map { Self.refusesURL($0) } ?? false }

  package static func refusesURL(_ status: Int) -> Bool { [401, 403, 404, 410].contains(status) }
}
