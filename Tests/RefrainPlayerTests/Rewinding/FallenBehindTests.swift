// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV
  import Foundation
  import OriginServer
  import Refrain
  import TestSupport
  import Testing

  @testable import RefrainPlayer

  /// A recorded station whose next bytes were dropped before libmpv has read them.
  @MainActor
  @Suite(.enabled(if: RequiredLibrary.libmpv.isUsable), .timeLimit(.minutes(1)))
  struct FallenBehindTests {
    /// libmpv's thread without an engine: the test decides when libmpv goes on between two items.
    @MainActor
    private struct Loop {
      let mailbox: MPVMailbox
      let messages: AsyncStream<MPVMessage>
      let file: URL

      init(_ listening: Listening) async throws {
        file = listening.directory.appending(path: "heard.wav")
        let (messages, continuation) = AsyncStream.makeStream(of: MPVMessage.self)
        self.messages = messages
        mailbox = try await MPVLoop.start(
          library: MPVLibrary.name, output: .wavFile(file), events: continuation)
      }

      /// Plays until `act` returns false. Returns the runs of samples that were heard.
      func play(
        _ playback: MPVPlayback, act: (MPVMessage) -> Bool
      ) async throws -> [Range<Int>] {
        mailbox.post(.load(playback, start: .zero, isPaused: false))
        for await message in messages where !act(message) { break }
        async let closed: Void = mailbox.close()
        for await message in messages {
          if case .held(let hook) = message { mailbox.post(.goOn(hook)) }
        }
        await closed
        return NumberedFrames.runs(try WAVFile(file).samples)
      }
    }

    private func playback(
      of media: Media, _ listening: Listening, keeping rewind: Duration
    ) -> MPVPlayback {
      let item = EngineItem(
        id: EngineItem.ID(rawValue: 1), media: media, fill: .onDemand, rewind: rewind)
      return MPVPlayback(item: item, cache: listening.cache)
    }

    /// Plays on after a pause that was longer than the ring, until libmpv has left the item for its
    /// reloading; calls `act` then, and for all later messages.
    private func afterLongPause(
      _ listening: Listening, act: @escaping (MPVMessage, LiveWindow, MPVMailbox) -> Bool
    ) async throws -> [Range<Int>] {
      let playback = playback(
        of: listening.serveStation(seconds: 1500), listening, keeping: .seconds(60))
      // Fewer than the ring holds.
      let release = listening.holdStation(at: 50, 1490)
      let loop = try await Loop(listening)
      var hasPaused = false
      var window: LiveWindow?
      return try await loop.play(playback) { message in
        if let window { return act(message, window, loop.mailbox) }
        switch message {
        case .event(.position(_, let position)) where !hasPaused && position > .seconds(5):
          hasPaused = true
          loop.mailbox.post(.pause(true))
          release()
        case .event(.liveWindow(_, let now)) where now.end >= .seconds(1480):
          // libmpv still has a few seconds, and then reads what was dropped.
          window = now
          loop.mailbox.post(.pause(false))
        default: break
        }
        return true
      }
    }

    @Test func `A seek made while playback that fell behind is loaded again leads to its place`()
      async throws
    {
      try await Listening.with { listening in
        let target = Duration.seconds(1470)
        var holds = 0
        var hasArrived = false
        let runs = try await afterLongPause(listening) { message, _, mailbox in
          switch message {
          case .held(let hook):
            // libmpv has left the item, and does not begin it again before it may.
            holds += 1
            if holds == 1 {
              mailbox.post(.seek(EngineItem.ID(rawValue: 1), target, serial: 1))
            }
            mailbox.post(.goOn(hook))
          case .event(.seekCompleted(_, let serial, _)):
            #expect(serial == 1)
            hasArrived = true
            return false
          case .event(.failed(_, let error)):
            Issue.record("\(error)")
            return false
          default: break
          }
          return true
        }
        #expect(hasArrived)
        // The position that is reported is later: a file is written faster than sound is played.
        let place = Int(target.inSeconds) * NumberedFrames.wavRate
        let interval = Int(LiveIndex.interval.inSeconds * Double(NumberedFrames.wavRate))
        let start = try #require(runs.last?.lowerBound)
        #expect((place - interval...place).contains(start), "\(runs)")
      }
    }

    @Test func `Playback that fell behind reports its new place as a position`() async throws {
      try await Listening.with { listening in
        var places: [Duration] = []
        var isReloading = false
        _ = try await afterLongPause(listening) { message, window, mailbox in
          switch message {
          case .held(let hook):
            isReloading = true
            mailbox.post(.goOn(hook))
          case .event(.position(_, let position)) where isReloading: places.append(position)
          case .event(.seekCompleted), .event(.failed): Issue.record("\(message)")
          default: break
          }
          return places.isEmpty
        }
        let place = try #require(places.first)
        #expect(place > .seconds(1400), "\(place)")
      }
    }

    @Test func `A station that outruns its ring before its first sound is heard to its end`()
      async throws
    {
      try await Listening.with { listening in
        let seconds = 1500
        // The ring has two blocks, and all of the station arrives while libmpv opens it.
        let playback = playback(
          of: listening.serveStation(seconds: seconds, speed: nil), listening,
          keeping: .milliseconds(1))
        let loop = try await Loop(listening)
        let runs = try await loop.play(playback) { message in
          switch message {
          case .held(let hook): loop.mailbox.post(.goOn(hook))
          // A station that ends has broken off.
          case .event(.ended), .event(.failed): return false
          default: break
          }
          return true
        }
        #expect(runs.last?.upperBound == seconds * NumberedFrames.wavRate, "\(runs)")
      }
    }
  }
#endif
