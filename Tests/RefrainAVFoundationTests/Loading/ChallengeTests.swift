// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Foundation
  import FoundationNetworking
  import OriginServer
  import Refrain
  import RefrainAVFoundation
  import RefrainLocks
  import TestSupport
  import Testing

  /// Authentication challenges of resources that AVFoundation loads itself.
  @Suite(.timeLimit(.minutes(1))) struct ChallengeTests {
    final class Told: Sendable {
      let texts = Mutex<[String]>([])
    }

    struct Weak {
      weak var value: Sender?
      init(_ value: Sender) { self.value = value }
    }

    /// Records the calls it receives.
    final class Sender: NSObject, URLAuthenticationChallengeSender, Sendable {
      private let told: Told

      init(_ told: Told) { self.told = told }

      private func note(_ text: String) { told.texts.withLock { $0.append(text) } }

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
    func `The app's answer to a challenge is passed on`(
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
        let told = Told()
        try #require(asset.resourceLoader.delegateQueue).sync {
          #expect(
            delegate.resourceLoader(
              asset.resourceLoader, shouldWaitForResponseTo: challenge(Sender(told))))
        }
        try await eventually("nothing was told") { told.texts.withLock { !$0.isEmpty } }
        #expect(told.texts.withLock { $0 } == [expected])
      }
    }

    @Test
    func `Without a challenge handler, AVFoundation handles the challenge itself`() async throws {
      try await withAssets { test in
        let asset = test.cache.asset(for: test.resource())
        let delegate = try #require(asset.resourceLoader.delegate)
        #expect(
          !delegate.resourceLoader(
            asset.resourceLoader, shouldWaitForResponseTo: challenge(Sender(Told())))
        )
      }
    }

    @Test func `A cancelled challenge receives no answer`() async throws {
      try await withAssets { test in
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let asset = test.cache.asset(for: test.resource()) { _ in
          for await _ in gate {}
          return (.cancelAuthenticationChallenge, nil)
        }
        let delegate = try #require(asset.resourceLoader.delegate)
        let queue = try #require(asset.resourceLoader.delegateQueue)
        let told = Told()
        /// Begins and cancels a challenge, and returns its sender, which nothing should retain.
        func begin() -> Weak {
          let sender = Sender(told)
          let challenge = challenge(sender)
          queue.sync {
            #expect(
              delegate.resourceLoader(asset.resourceLoader, shouldWaitForResponseTo: challenge))
            delegate.resourceLoader(asset.resourceLoader, didCancel: challenge)
          }
          return Weak(sender)
        }
        let sender = begin()
        open.finish()
        try await eventually("the challenge is held") { sender.value == nil }
        #expect(told.texts.withLock { $0 } == [])
      }
    }

    @Test func `A pending challenge is cancelled when the asset is released`() async throws {
      try await withAssets { test in
        let told = Told()
        func begin() throws {
          let asset = test.cache.asset(for: test.resource()) { _ in
            // Waits until it is cancelled.
            for await _ in AsyncStream<Void>.makeStream().stream {}
            return (.performDefaultHandling, nil)
          }
          let delegate = try #require(asset.resourceLoader.delegate)
          try #require(asset.resourceLoader.delegateQueue).sync {
            #expect(
              delegate.resourceLoader(
                asset.resourceLoader, shouldWaitForResponseTo: challenge(Sender(told))))
          }
        }
        try begin()
        try await eventually("nothing was told") { !told.texts.withLock { $0.isEmpty } }
        #expect(told.texts.withLock { $0 } == ["cancel"])
      }
    }
  }
#endif
