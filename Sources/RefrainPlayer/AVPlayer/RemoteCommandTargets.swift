// SPDX-License-Identifier: MIT
import Foundation

#if canImport(MediaPlayer)
  import MediaPlayer
#else
  import AVFoundationStandIn
#endif

/// The system's remote command buttons, active until this object is released.
@MainActor final class RemoteCommandTargets {
  var onCommand: (@MainActor @Sendable (RemoteCommand) -> Void)?

  private let center: MPRemoteCommandCenter
  private let skip: Duration?
  private let rates: [Double]
  private let targets = Targets()

  /// - Parameters:
  ///   - skip: the distance of the skip buttons; nil: no skip buttons.
  ///   - rates: the playback rates offered.
  init(_ center: MPRemoteCommandCenter, skip: Duration?, rates: [Double]) {
    self.center = center
    self.skip = skip
    self.rates = rates
    add(center.playCommand) { _ in .play }
    add(center.pauseCommand) { _ in .pause }
    add(center.togglePlayPauseCommand) { _ in .toggle }
    add(center.nextTrackCommand) { _ in .next }
    add(center.previousTrackCommand) { _ in .previous }
    add(center.changePlaybackPositionCommand) { event in
      (event as? MPChangePlaybackPositionCommandEvent).map { .seek(.seconds($0.positionTime)) }
    }
    add(center.changePlaybackRateCommand) { event in
      (event as? MPChangePlaybackRateCommandEvent).map { .rate(Double($0.playbackRate)) }
    }
    center.changePlaybackRateCommand.supportedPlaybackRates = rates.map { NSNumber(value: $0) }
    addSkipping()
  }

  private func addSkipping() {
    guard let skip else { return }
    let interval = [NSNumber(value: skip.inSeconds)]
    center.skipForwardCommand.preferredIntervals = interval
    center.skipBackwardCommand.preferredIntervals = interval
    add(center.skipForwardCommand) { event in
      (event as? MPSkipIntervalCommandEvent).map { .skip(by: .seconds($0.interval)) }
    }
    add(center.skipBackwardCommand) { event in
      (event as? MPSkipIntervalCommandEvent).map { .skip(by: .seconds(-$0.interval)) }
    }
  }

  /// - Parameter meaning: returns the command, or nil if the event lacks its value.
  private func add(
    _ command: MPRemoteCommand,
    _ meaning: @escaping @Sendable (MPRemoteCommandEvent) -> RemoteCommand?
  ) {
    // Called on any thread.
    let target = command.addTarget { @Sendable [weak self] event in
      guard let wanted = meaning(event) else { return .commandFailed }
      onMainThread { self?.onCommand?(wanted) }
      return .success
    }
    targets.add(target, of: command)
  }

  /// Disables the buttons that would do nothing.
  func allow(_ info: NowPlayingInfo) {
    center.changePlaybackPositionCommand.isEnabled = info.duration != nil && !info.isLive
    center.changePlaybackRateCommand.isEnabled = !info.isLive
    let (index, count) = (info.queueIndex, info.queueCount)
    center.nextTrackCommand.isEnabled =
      index.flatMap { index in count.map { index + 1 < $0 } } ?? true
  }
}

/// Removes every target when released.
private final class Targets {
  private var all: [(command: MPRemoteCommand, target: Any)] = []

  func add(_ target: Any, of command: MPRemoteCommand) { all.append((command, target)) }

  deinit {
    for (command, target) in all { command.removeTarget(target) }
  }
}
