// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Foundation
  import OriginServer
  import Refrain
  import Testing
  import TestSupport

  @testable import RefrainPlayer

  @MainActor @Suite(.timeLimit(.minutes(2))) struct EngineFailureTests {
    private func failure(_ listening: AppleListening) async throws -> MediaCacheError {
      try await listening.wait("failed") { $0.isFailure }
      #expect(listening.events.last?.isFailure == true)
      return try #require(listening.events.last?.failure)
    }

    @Test func `Playback fails where the available bytes end`() async throws {
      try await AppleListening.with({ $0.retry.attempts = 2 }) { listening in
        let item = listening.item(seconds: 100)
        listening.origin.script(
          "/a.wav",
          .on(.all, .drop(at: .resource(50_044)))
            .on(.where { $0.firstByte >= 50_044 }, .status(410)))
        listening.engine.load(item, at: .zero, isPaused: false)
        try await listening.waitForReady(item)
        try await eventually("it fails where the bytes end") {
          await listening.pass(5)
          return listening.events.contains(where: \.isFailure)
        }
        let error = try #require(listening.events.last?.failure)
        #expect(error.code == .status && error.status == 410)
        #expect(listening.positions.last == .seconds(50))
      }
    }

    @Test func `A missing file fails with a reason and a remedy`() async throws {
      try await AppleListening.with { listening in
        let item = listening.item(at: listening.directory.appending(path: "none.wav"))
        listening.engine.load(item, at: .zero, isPaused: false)
        let error = try await failure(listening)
        #expect(error.reason.contains("none.wav") && !error.remedy.isEmpty)
      }
    }

    @Test func `A failed AVPlayer is replaced`() async throws {
      try await AppleListening.with { listening in
        let item = listening.item()
        try await listening.start(item)
        let broken = listening.engine.player
        broken.standInFail(NSError(domain: AVFoundationErrorDomain, code: -11819))
        let error = try await failure(listening)
        #expect(error.reason.contains("media services"))
        #expect(listening.engine.player !== broken && broken.standInTimeObserverCount == 0)
        let next = listening.item("/b.wav")
        try await listening.start(next)
        await listening.pass(11)
        #expect(listening.events.last == .ended(next.id, followedBy: nil))
      }
    }

    @Test func `The cache's own error is reported, and other errors reveal no secrets`() throws {
      let own = MediaCacheError(.offline, "Offline.", remedy: "Go online.")
      let url = try #require(URL(string: "https://user:secret@example.org/a.mp3"))
      let loader = NSError(
        domain: NSURLErrorDomain, code: -1009, userInfo: [NSUnderlyingErrorKey: own])
      let outer = NSError(
        domain: AVFoundationErrorDomain, code: -11800, userInfo: [NSUnderlyingErrorKey: loader])
      #expect(MediaCacheError(avFoundation: outer, cacheFailure: nil, playing: url) == own)
      let bare = NSError(domain: AVFoundationErrorDomain, code: -11800)
      #expect(MediaCacheError(avFoundation: bare, cacheFailure: own, playing: url) == own)
      for code in [-11800, -11821, -11828, -11829, -11831, -11833, -11819, 5] {
        let error = MediaCacheError(
          avFoundation: NSError(domain: AVFoundationErrorDomain, code: code), cacheFailure: nil,
          playing: url)
        #expect(!error.reason.isEmpty && !error.remedy.isEmpty)
        #expect(!error.reason.contains("secret"), "\(error)")
      }
      let none = MediaCacheError(avFoundation: nil, cacheFailure: nil, playing: url)
      #expect(!none.remedy.isEmpty)
    }
  }
#endif
