// SPDX-License-Identifier: MIT
import Dispatch
import Foundation
import Refrain

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Passes AVFoundation's challenges to the app, and the app's responses back, on AVFoundation's
/// queue.
final class ChallengeResponder: Sendable {
  private struct Pending {
    let challenge: URLAuthenticationChallenge
    let task: Task<Void, Never>
  }

  private let handler: AuthenticationChallengeHandler?
  private let pending: QueueBound<[ObjectIdentifier: Pending]>

  init(handler: AuthenticationChallengeHandler?, queue: DispatchQueue) {
    self.handler = handler
    pending = QueueBound([:], to: queue)
  }

  /// Passes a challenge to the app. Called on the queue.
  ///
  /// - Returns: false if there is nobody to respond, and AVFoundation handles the challenge itself.
  func take(_ challenge: URLAuthenticationChallenge) -> Bool {
    guard let handler, challenge.sender != nil else { return false }
    let task = Task { [pending] in
      let (disposition, credential) = await handler(challenge)
      pending.queue.async {
        // The first one ends the challenge: the app's response, or AVFoundation's cancellation.
        let id = ObjectIdentifier(challenge)
        guard pending.withValue({ $0.removeValue(forKey: id) }) != nil else { return }
        Self.answer(challenge, disposition, credential)
      }
    }
    pending.withValue {
      $0[ObjectIdentifier(challenge)] = Pending(challenge: challenge, task: task)
    }
    return true
  }

  private static func answer(
    _ challenge: URLAuthenticationChallenge, _ disposition: URLSession.AuthChallengeDisposition,
    _ credential: URLCredential?
  ) {
    guard let sender = challenge.sender else { return }
    switch disposition {
    case .useCredential:
      guard let credential else { return sender.continueWithoutCredential(for: challenge) }
      sender.use(credential, for: challenge)
    case .cancelAuthenticationChallenge: sender.cancel(challenge)
    #if canImport(FoundationNetworking)
      case .rejectProtectionSpace: sender.rejectProtectionSpaceAndContinue(with: challenge)
      default: sender.performDefaultHandling(for: challenge)
    #else
      // The Objective-C protocol declares both optional.
      case .rejectProtectionSpace: sender.rejectProtectionSpaceAndContinue?(with: challenge)
      default: sender.performDefaultHandling?(for: challenge)
    #endif
    }
  }

  /// Drops a challenge that AVFoundation has cancelled, without a response. Called on the queue.
  func cancel(_ challenge: URLAuthenticationChallenge) {
    let cancelled = pending.withValue { $0.removeValue(forKey: ObjectIdentifier(challenge)) }
    cancelled?.task.cancel()
  }

  /// Cancels all challenges without a response. May be called on any thread.
  func endAll() {
    pending.queue.async { [pending] in
      let all = pending.withValue { pending in
        defer { pending = [:] }
        return pending.values
      }
      for pending in all {
        pending.task.cancel()
        pending.challenge.sender?.cancel(pending.challenge)
      }
    }
  }
}
