// SPDX-License-Identifier: MIT
import Dispatch
import Foundation
import Refrain

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Hands AVFoundation's challenges to the app, and its answers back, on AVFoundation's queue.
final class ChallengeResponder: Sendable {
  private struct Pending {
    let challenge: URLAuthenticationChallenge
    let task: Task<Void, Never>
  }

  private let handler: URLSessionTransport.ChallengeHandler?
  private let pending: QueueBound<[ObjectIdentifier: Pending]>

  init(handler: URLSessionTransport.ChallengeHandler?, queue: DispatchQueue) {
    self.handler = handler
    pending = QueueBound([:], to: queue)
  }

  /// On the queue.
  ///
  /// - Returns: false where nobody answers, and AVFoundation goes on as it would.
  func take(_ challenge: URLAuthenticationChallenge) -> Bool {
    guard let handler, challenge.sender != nil else { return false }
    let task = Task { [pending] in
      let (disposition, credential) = await handler(challenge)
      pending.queue.async {
        // Whoever is first ends it: the app, or AVFoundation that does not want to know any more.
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
      if let credential {
        sender.use(credential, for: challenge)
      } else {
        sender.continueWithoutCredential(for: challenge)
      }
    case .cancelAuthenticationChallenge: sender.cancel(challenge)
    case .rejectProtectionSpace:
      #if canImport(FoundationNetworking)
        sender.rejectProtectionSpaceAndContinue(with: challenge)
      #else
        // In Objective-C the protocol need not have it.
        sender.rejectProtectionSpaceAndContinue?(with: challenge)
      #endif
    case .performDefaultHandling: performDefault(sender, challenge)
    @unknown default: performDefault(sender, challenge)
    }
  }

  private static func performDefault(
    _ sender: any URLAuthenticationChallengeSender, _ challenge: URLAuthenticationChallenge
  ) {
    #if canImport(FoundationNetworking)
      sender.performDefaultHandling(for: challenge)
    #else
      sender.performDefaultHandling?(for: challenge)
    #endif
  }

  /// AVFoundation has cancelled the challenge: nothing is said to it any more. On the queue.
  func cancel(_ challenge: URLAuthenticationChallenge) {
    let cancelled = pending.withValue { $0.removeValue(forKey: ObjectIdentifier(challenge)) }
    cancelled?.task.cancel()
  }

  /// Whoever still waits is told that no answer comes. From any thread.
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
