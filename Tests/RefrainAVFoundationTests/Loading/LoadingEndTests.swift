// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Foundation
  import OriginServer
  import Refrain
  import RefrainAVFoundation
  import RefrainLocks
  import TestSupport
  import Testing

  /// The end of requests: each ends once, in every case.
  @Suite(.timeLimit(.minutes(1))) struct LoadingEndTests {
    @Test func `Pending requests are cancelled when the asset is released`() async throws {
      try await withAssets {
        $0.abandonedSilence = .milliseconds(20)
      } _: { test in
        test.serve(5_000_000)
        // Both responses stall: the one from the start, and the one for the later position.
        test.origin.script(
          "/song.wav", .on(.all, .stall(at: .resource(60_000)), .stall(at: .resource(4_000_000))))
        let player = test.player()
        try await player.ask()
        let requests = [
          try player.request(.toEnd(from: 0)),
          // Bytes of the stalled fetch, too; those further on would come by another fetch.
          try player.request(.bytes(10, at: 61_000)),
          try player.request(.bytes(10, at: 4_000_000)),
        ]
        await requests[0].received(60_000)
        // Requests reach the loader in order: once this one has, so have those above.
        _ = try await player.request(.bytes(10, at: 0)).end()
        player.leave()
        for request in requests {
          let error = await request.end().error as? NSError
          #expect(error?.code == URLError.cancelled.rawValue)
        }
        player.check()
        // Nothing is fetched for the asset any more, and no file is held.
        try await eventually("\(test.openDescriptors) files are open") { test.openDescriptors == 0 }
      }
    }

    @Test func `A pending request fails if the asset is released before a response`() async throws {
      try await withAssets { test in
        test.serve(5_000_000)
        test.origin.script("/song.wav", .on(.all, .delay(nil)))
        let player = test.player()
        let request = try player.request(.information())
        _ = try await test.origin.wait(for: "/song.wav") { $0.stalled > 0 }
        player.leave()
        #expect(await request.end().error != nil)
        player.check()
        try await eventually("the entry is in use") {
          try await test.cache.entries().allSatisfy { !$0.isInUse }
        }
      }
    }

    @Test func `Pending and later requests fail when the cache is closed`() async throws {
      try await withAssets { test in
        test.serve(5_000_000)
        test.origin.script("/song.wav", .on(.all, .stall(at: .resource(60_000))))
        let player = test.player()
        try await player.ask()
        let request = try player.request(.toEnd(from: 0))
        await request.received(60_000)
        await test.cache.close()
        let error = await request.end().error as? NSError
        #expect((error?.userInfo[NSUnderlyingErrorKey] as? MediaCacheError)?.code == .closed)
        // Later requests receive the error as well.
        #expect(await (try player.request(.bytes(1, at: 4_000_000))).end().error != nil)
        player.check()
      }
    }

    @Test func `A cancelled request ends its fetch from the origin`() async throws {
      try await withAssets {
        $0.abandonedSilence = .milliseconds(20)
      } _: { test in
        test.serve(5_000_000)
        test.origin.script("/song.wav", .on(.all, .stall(at: .resource(60_000))))
        let player = test.player()
        try await player.ask()
        let request = try player.request(.toEnd(from: 0))
        await request.received(60_000)
        await request.cancel()
        // Nobody takes the bytes that the origin sends now.
        test.origin.release("/song.wav")
        _ = try await test.origin.wait(for: "/song.wav") { $0.running == 0 }
        // Bytes in socket buffers are lost.
        let spans = try await test.cache.progress(of: test.resource()).spans
        #expect(!spans.contains(1_000_000))
        player.check()
      }
    }

    @Test func `After a failure, the next request tries again`() async throws {
      try await withAssets {
        $0.retry.attempts = 1
      } _: { test in
        test.serve(100_000)
        test.origin.script("/song.wav", .on(.number(1), .status(500)))
        let player = test.player()
        let first = try player.request(.information())
        let error = await first.end().error as? NSError
        #expect(error?.code == URLError.badServerResponse.rawValue)
        #expect((error?.userInfo[NSUnderlyingErrorKey] as? MediaCacheError)?.status == 500)
        try await player.ask()
        player.check()
      }
    }

    @Test(arguments: [
      (404, URLError.fileDoesNotExist), (410, .fileDoesNotExist), (403, .noPermissionsToReadFile),
      (401, .userAuthenticationRequired), (400, .badServerResponse),
    ])
    func `An HTTP error maps to the error code that AVFoundation uses`(
      _ status: Int, _ code: URLError.Code
    ) async throws {
      try await withAssets { test in
        test.serve(100_000)
        test.origin.script("/song.wav", .on(.all, .status(status)))
        let player = test.player()
        let error = await (try player.request(.information())).end().error as? NSError
        #expect(error?.code == code.rawValue)
        #expect(error?.localizedDescription.contains("\(status)") == true)
        player.check()
      }
    }

    @Test func `Bytes arrive in bounded pieces, and never on the main thread`() async throws {
      try await withAssets { test in
        let length: Int64 = 30_000_000
        test.serve(length)
        try await test.cache.prefetch(test.resource())
        let asset = test.cache.asset(for: test.resource())
        #expect(await asset.standInRequest(.information()).end().isFinished)
        let largest = Mutex(0)
        let onMain = Mutex(0)
        let request = asset.standInRequest(.toEnd(from: 0)) { _, data in
          largest.withLock { $0 = max($0, data.count) }
          if Thread.isMainThread { onMain.withLock { $0 += 1 } }
        }
        #expect(await request.end().isFinished)
        #expect(request.currentOffset == length)
        #expect(largest.withLock { $0 } <= 256 << 10)
        #expect(onMain.withLock { $0 } == 0)
      }
    }
  }
#endif
