// SPDX-License-Identifier: MIT
package import Foundation
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

extension MediaCache {
  /// Returns the newest URL of a stored document after redirects, whose earlier one the origin
  /// refuses; nil if no newer one is known. The stored document is that of the newest URL from then
  /// on.
  ///
  /// - Parameters:
  ///   - url: the earlier URL after redirects.
  ///   - fields: those that further requests may have. Where a redirect leads that the origin
  ///     gave to other credentials is not told: the URL may grant access.
  package func relocate(from url: URL, for fields: [HeaderFields]) async -> URL? {
    guard let move = context.movedResources.move(from: url) else { return nil }
    let asked = move.resource
    let granted = [HeaderFields()] + fields
    // What cannot be opened is not stored.
    guard
      granted.contains(where: {
        Credentials.of(Resource(url: asked.url, headers: $0)) == Credentials.of(asked)
      }),
      let reader = try? await open(move.resource, fill: .onDemand)
    else { return nil }
    defer { reader.cancel() }
    reader.entry.current?.withState { state in
      state.representation.move(to: move.target)
      state.storage.noteRecordStale()
    }
    return move.target
  }

  /// Whether redirects that led to a URL lead to another one by now.
  package func hasMoved(from url: URL) -> Bool { context.movedResources.move(from: url) != nil }
}

extension MediaCacheError {
  /// Whether the origin refuses a URL that it has accepted before, or has forgotten it.
  package var refusesURL: Bool { status.map { Self.refusesURL($0) } ?? false }

  package static func refusesURL(_ status: Int) -> Bool { [401, 403, 404, 410].contains(status) }
}
