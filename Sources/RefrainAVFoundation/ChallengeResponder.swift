// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Hands AVFoundation's challenges to the app, and its answers back.
final class ChallengeResponder: Sendable {
  private let handler: URLSessionTransport.ChallengeHandler?
  private let running = Mutex<[ObjectIdentifier: Task<Void, Never>]>([:])

  init(handler: URLSessionTransport.ChallengeHandler?) { self.handler = handler }

  /// - Returns: false where nobody answers, and AVFoundation goes on as it would.
  func take(_ challenge: URLAuthenticationChallenge) -> Bool {
    guard let handler, challenge.sender != nil else { return false }
    let id = ObjectIdentifier(challenge)
    running.withLock { running in
      running[id] = Task { [weak self] in
        let (disposition, credential) = await handler(challenge)
        // Whoever is first ends it: the app, or AVFoundation that does not want to know any more.
        guard self?.running.withLock({ $0.removeValue(forKey: id) }) != nil else { return }
        Self.answer(challenge, disposition, credential)
      }
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

  func cancel(_ challenge: URLAuthenticationChallenge) {
    running.withLock { $0.removeValue(forKey: ObjectIdentifier(challenge)) }?.cancel()
  }

  func endAll() {
    let tasks = running.withLock { running in
      defer { running = [:] }
      return Array(running.values)
    }
    for task in tasks { task.cancel() }
  }
}
