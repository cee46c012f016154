// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import Testing

  @testable import RefrainPlayer

  /// The effects of clients' calls, besides those that `MPRISModelTests` states.
  struct MPRISCallTests {
    private let nothing = MPRISDecision.player([])

    private func decide(
      _ state: MPRISState, _ method: MPRISMethod, _ arguments: DBusValue...
    ) -> MPRISDecision {
      state.decide(.method(method, arguments))
    }

    private func error(_ decision: MPRISDecision) -> MPRISRefusal.Kind? {
      if case .refused(let refusal) = decision { refusal.kind } else { nil }
    }

    @Test func `An empty player plays nothing`() {
      let empty = MPRISState.sample([])
      for method in [MPRISMethod.play, .stop, .next, .previous] {
        #expect(decide(empty, method) == nothing)
      }
      #expect(decide(empty, .seek, .int64(1)) == nothing)
      #expect(error(decide(empty, .playPause)) == .failed)
    }

    @Test func `Settings reach the player, and values without meaning are refused`() {
      let state = MPRISState.sample()
      func set(_ property: MPRISProperty, _ value: DBusValue) -> MPRISDecision {
        state.decide(.set(property, value))
      }
      #expect(set(.loopStatus, .string("Track")) == .player([.setRepeatMode(.one)]))
      #expect(error(set(.loopStatus, .string("track"))) == .invalidArguments)
      #expect(set(.isShuffled, .bool(true)) == .player([.setShuffled(true)]))
      #expect(set(.rate, .double(1.5)) == .player([.setRate(1.5)]))
      #expect(set(.rate, .double(0)) == .player([.pause]))
      #expect(set(.rate, .double(-1)) == nothing)
      #expect(error(set(.rate, .double(.nan))) == .invalidArguments)
      #expect(set(.volume, .double(-3)) == .player([.setVolume(-3)]))
      #expect(error(set(.volume, .double(.infinity))) == .invalidArguments)
      #expect(error(set(.isFullscreen, .bool(true))) == .notSupported)
      #expect(error(set(.position, .int64(1))) == .invalidArguments)
    }

    @Test func `A volume above zero is heard, also of a muted player`() {
      let state = MPRISState.sample { $0.isMuted = true }
      #expect(
        state.decide(.set(.volume, .double(0.5))) == .player([.setMuted(false), .setVolume(0.5)]))
      #expect(state.decide(.set(.volume, .double(0))) == .player([.setVolume(0)]))
    }

    @Test func `The player's own window fills the screen for a client while it is open`() {
      let call = MPRISCall.set(.isFullscreen, .bool(true))
      #expect(error(MPRISState.sample().decide(call)) == .notSupported)
      var state = MPRISState.sample { $0.isFullscreen = false }
      #expect(state.decide(call) == .player([.setFullscreen(true)]))
      #expect(error(state.decide(.set(.isFullscreen, .string("true")))) == .invalidArguments)
      // No engine can raise it.
      let refusal = MPRISRefusal(kind: .notSupported, text: "The window cannot be raised.")
      #expect(decide(state, .raise) == .refused(refusal))
      // The mode of the app's window is the app's own.
      state.app.canSetFullscreen = true
      #expect(state.decide(call) == .setFullscreen(true))
    }

    @Test(arguments: ["ftp://h/a", "/music/a.ogg", "-", "", "file"])
    func `Only URIs of the app's schemes are opened`(_ uri: String) {
      let state = MPRISState.sample()
      #expect(error(decide(state, .openURI, .string(uri))) == .notSupported)
      #expect(
        error(
          decide(state, .addTrack, .string(uri), .path(MPRISTrackID.none), .bool(false)))
          == .notSupported)
      #expect(decide(state, .openURI, .string("HTTPS://h/a")) == .open("HTTPS://h/a"))
    }
  }
#endif
