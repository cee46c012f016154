// SPDX-License-Identifier: MIT
import RefrainPlayer

#if os(Linux)
  /// Performs the actions of keys that concern the player, whether a terminal or the window sent
  /// them.
  @MainActor
  final class PlayControl {
    private var sleepSteps = SleepSteps()

    /// - Parameter tell: receives what the listener has to know.
    func perform(_ action: ScreenAction, on player: Player, tell: (String) -> Void) {
      switch action {
      case .toggle: player.togglePlayback()
      case .next: goOn(player, tell)
      case .previous: player.previous()
      case .seek(let seconds): player.seek(by: .seconds(seconds))
      case .jump(let tenths):
        if let window = player.liveWindow {
          player.seek(to: window.start + (window.live - window.start) * tenths / 10)
        } else if tenths == 0 || player.isLive {
          // Without a window, a live stream refuses every seek.
          player.seek(to: .zero)
        } else if let duration = player.duration {
          player.seek(to: duration * tenths / 10)
        }
      case .goLive:
        if player.isLive { player.seekToLive() } else { tell("This item is not live.") }
      case .changeVolume(let change):
        // In whole steps, whatever `--volume` was.
        player.volume = ((player.volume + change) * 20).rounded() / 20
        player.isMuted = false
      case .toggleMute: player.isMuted = !player.isMuted
      case .slower: player.rate = RateSteps.below(player.rate)
      case .faster: player.rate = RateSteps.above(player.rate)
      case .resetRate: player.rate = 1
      case .cycleRepeat:
        let next: [PlayQueue.RepeatMode: PlayQueue.RepeatMode] = [
          .off: .all, .all: .one, .one: .off,
        ]
        player.repeatMode = next[player.queue.repeatMode] ?? .off
      case .toggleShuffle: player.isShuffled = !player.queue.isShuffled
      case .cycleSleepTimer: player.sleepTimer = sleepSteps.next(isSet: player.sleepTimer != nil)
      case .cycleSubtitle, .cycleSound, .toggleVideo, .toggleFullscreen:
        show(action, on: player, tell)
      default: break
      }
    }

    /// Goes to the next item. The last item plays on: after it the program would end, and the shell
    /// would receive the next key.
    private func goOn(_ player: Player, _ tell: (String) -> Void) {
      guard player.queue.next(.asked) != nil else { return tell("This is the last item.") }
      player.next()
    }

    private func show(_ action: ScreenAction, on player: Player, _ tell: (String) -> Void) {
      let canShow = player.capabilities.selectableTracks.contains(.video)
      if let refusal = Self.refusal(of: action, player.state, canShowVideo: canShow) {
        return tell(refusal)
      }
      switch action {
      case .cycleSubtitle: player.selectNext(.subtitle)
      case .cycleSound: player.selectNext(.audio)
      case .toggleVideo: player.showsVideo = !player.showsVideo
      case .toggleFullscreen: player.toggleFullscreen()
      default: break
      }
    }

    /// Returns why a key for tracks and pictures has no effect now; nil if it has one.
    ///
    /// - Parameter canShowVideo: whether the player shows any video.
    nonisolated static func refusal(
      of action: ScreenAction, _ state: PlayerState, canShowVideo: Bool
    ) -> String? {
      switch action {
      case .cycleSubtitle where state.tracks.tracks(of: .subtitle).isEmpty:
        "This item has no subtitles. S plays in random order."
      case .cycleSubtitle where !canShowVideo: "Without a window, no subtitles are shown."
      case .cycleSound where state.tracks.tracks(of: .audio).count < 2:
        "This item has no other sound track."
      case .toggleVideo where !canShowVideo, .toggleFullscreen where !canShowVideo:
        "No window can be opened: there is no display, or --audio-only was given."
      case .toggleVideo where !state.canHaveVideo, .toggleFullscreen where !state.canHaveVideo:
        "This item has no video."
      case .toggleFullscreen where state.video == nil && !state.showsVideo:
        "The video is hidden. v shows it."
      default: nil
      }
    }
  }

  extension PlayerState {
    /// Whether the item's video is shown, or would be if it were not hidden.
    fileprivate var canHaveVideo: Bool {
      // A cover counts where it is shown.
      video != nil || tracks.hasVideo || (!showsVideo && !tracks.tracks(of: .video).isEmpty)
    }
  }
#endif

/// The rates that the keys select.
enum RateSteps {
  private static let rates = [0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4]

  static func above(_ rate: Double) -> Double { rates.first { $0 > rate + 0.001 } ?? 4 }
  static func below(_ rate: Double) -> Double { rates.last { $0 < rate - 0.001 } ?? 0.25 }
}

/// The steps of the sleep timer's key: 15, 30 and 60 minutes, the end of the item, off.
struct SleepSteps: Sendable {
  private static let minutes = [15, 30, 60]
  private var step = 0

  /// - Parameter isSet: whether a timer runs. After one has run out, the steps start over.
  mutating func next(
    isSet: Bool, now: ContinuousClock.Instant = .now
  ) -> SleepTimer? {
    if !isSet { step = 0 }
    defer { step += 1 }
    if step < Self.minutes.count { return .at(now + .seconds(60 * Self.minutes[step])) }
    return step == Self.minutes.count ? .endOfItem : nil
  }
}
