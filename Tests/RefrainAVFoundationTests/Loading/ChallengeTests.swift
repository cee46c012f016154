// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Foundation
  import FoundationNetworking
  import OriginServer
  import Refrain
  import RefrainAVFoundation
  import Synchronization
  import TestSupport
  import Testing

  /// Authentication challenges of what AVFoundation loads by itself.
  @Suite(.timeLimit(.minutes(1))) struct ChallengeTests {
    /// Writes down what it is told.
    final class Sender: NSObject, URLAuthenticationChallengeSender, Sendable {
      let told = Mutex<[String]>([])

      private func note(_ text: String) { told.withLock { $0.append(text) } }

      func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {
        note("use \(credential.user ?? "nobody")")
      }
      func continueWithoutCredential(for challenge: URLAuthenticationChallenge) { note("without") }
      func cancel(_ challenge: URLAuthenticationChallenge) { note("cancel") }
      func performDefaultHandling(for challenge: URLAuthenticationChallenge) { note("default") }
      func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {
        note("reject")
      }
    }

    private func challenge(_ sender: Sender) -> URLAuthenticationChallenge {
      URLAuthenticationChallenge(
        protectionSpace: URLProtectionSpace(
          host: "example.org", port: 443, protocol: "https", realm: "r",
          authenticationMethod: NSURLAuthenticationMethodHTTPBasic),
        proposedCredential: nil, previousFailureCount: 0, failureResponse: nil, error: nil,
        sender: sender)
    }

    @Test(arguments: [
      (URLSession.AuthChallengeDisposition.useCredential, "use me"),
      (.cancelAuthenticationChallenge, "cancel"), (.performDefaultHandling, "default"),
      (.rejectProtectionSpace, "reject"),
    ])
    func `The app's answer is handed on`(
      _ disposition: URLSession.AuthChallengeDisposition, _ expected: String
    ) async throws {
      try await withAssets { test in
        let asset = test.cache.asset(for: test.resource()) { challenge in
          (
            disposition,
            disposition == .useCredential
              ? URLCredential(user: "me", password: "x", persistence: .none) : nil
          )
        }
        let delegate = try #require(asset.resourceLoader.delegate)
        let sender = Sender()
        #expect(
          delegate.resourceLoader(asset.resourceLoader, shouldWaitForResponseTo: challenge(sender)))
        try await eventually("nothing was told") { sender.told.withLock { !$0.isEmpty } }
        #expect(sender.told.withLock { $0 } == [expected])
      }
    }

    @Test func `Nobody to ask: AVFoundation goes on as it would`() async throws {
      try await withAssets { test in
        let asset = test.cache.asset(for: test.resource())
        let delegate = try #require(asset.resourceLoader.delegate)
        #expect(
          !delegate.resourceLoader(
            asset.resourceLoader, shouldWaitForResponseTo: challenge(Sender()))
        )
      }
    }

    @Test func `After a challenge was cancelled nothing is told any more`() async throws {
      try await withAssets { test in
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let answered = Mutex(false)
        let asset = test.cache.asset(for: test.resource()) { _ in
          for await _ in gate {}
          answered.withLock { $0 = true }
          return (.cancelAuthenticationChallenge, nil)
        }
        let delegate = try #require(asset.resourceLoader.delegate)
        let sender = Sender()
        let challenge = challenge(sender)
        #expect(delegate.resourceLoader(asset.resourceLoader, shouldWaitForResponseTo: challenge))
        delegate.resourceLoader(asset.resourceLoader, didCancel: challenge)
        open.finish()
        try await eventually("the handler never ended") { answered.withLock { $0 } }
        #expect(sender.told.withLock { $0 } == [])
      }
    }
  }
#endif
