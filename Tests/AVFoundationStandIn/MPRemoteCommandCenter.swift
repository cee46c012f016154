// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  public import Foundation

  public enum MPRemoteCommandHandlerStatus: Int, Sendable {
    case success = 0
    case noSuchContent = 100
    case commandFailed = 200
  }

  /// A command of the lock screen, of headphones, of a car. Not Sendable, as Apple's.
  open class MPRemoteCommand: NSObject {
    private final class Token {}
    private typealias Handler = (MPRemoteCommandEvent) -> MPRemoteCommandHandlerStatus
    private var handlers: [(token: Token, handle: Handler)] = []
    open var isEnabled = true

    override init() {}

    open func addTarget(
      handler: @escaping (MPRemoteCommandEvent) -> MPRemoteCommandHandlerStatus
    ) -> Any {
      let token = Token()
      handlers.append((token, handler))
      return token
    }

    open func removeTarget(_ target: Any?) {
      handlers.removeAll { target == nil || $0.token === target as? Token }
    }

    package var standInHandlerCount: Int { handlers.count }

    /// Presses the button. Returns nil if the command is disabled or has no target.
    @discardableResult
    package func standInFire(_ event: MPRemoteCommandEvent? = nil) -> MPRemoteCommandHandlerStatus?
    {
      guard isEnabled else { return nil }
      return handlers.map { $0.handle(event ?? MPRemoteCommandEvent(command: self)) }.last
    }
  }

  open class MPSkipIntervalCommand: MPRemoteCommand {
    open var preferredIntervals: [NSNumber] = []

    @discardableResult
    package func standInFire(interval: TimeInterval) -> MPRemoteCommandHandlerStatus? {
      standInFire(MPSkipIntervalCommandEvent(command: self, interval: interval))
    }
  }

  open class MPChangePlaybackPositionCommand: MPRemoteCommand {
    @discardableResult
    package func standInFire(position: TimeInterval) -> MPRemoteCommandHandlerStatus? {
      standInFire(MPChangePlaybackPositionCommandEvent(command: self, position: position))
    }
  }

  open class MPChangePlaybackRateCommand: MPRemoteCommand {
    open var supportedPlaybackRates: [NSNumber] = []

    @discardableResult
    package func standInFire(rate: Float) -> MPRemoteCommandHandlerStatus? {
      standInFire(MPChangePlaybackRateCommandEvent(command: self, rate: rate))
    }
  }

  // MARK: Events

  open class MPRemoteCommandEvent: NSObject {
    public let command: MPRemoteCommand
    init(command: MPRemoteCommand) { self.command = command }
  }

  open class MPSkipIntervalCommandEvent: MPRemoteCommandEvent {
    public let interval: TimeInterval
    init(command: MPRemoteCommand, interval: TimeInterval) {
      self.interval = interval
      super.init(command: command)
    }
  }

  open class MPChangePlaybackPositionCommandEvent: MPRemoteCommandEvent {
    public let positionTime: TimeInterval
    init(command: MPRemoteCommand, position: TimeInterval) {
      positionTime = position
      super.init(command: command)
    }
  }

  open class MPChangePlaybackRateCommandEvent: MPRemoteCommandEvent {
    public let playbackRate: Float
    init(command: MPRemoteCommand, rate: Float) {
      playbackRate = rate
      super.init(command: command)
    }
  }

  @available(iOS 7.1, macOS 10.12.2, tvOS 9, visionOS 1, *)
  open class MPRemoteCommandCenter: NSObject {
    public let playCommand = MPRemoteCommand()
    public let pauseCommand = MPRemoteCommand()
    public let togglePlayPauseCommand = MPRemoteCommand()
    public let nextTrackCommand = MPRemoteCommand()
    public let previousTrackCommand = MPRemoteCommand()
    public let skipForwardCommand = MPSkipIntervalCommand()
    public let skipBackwardCommand = MPSkipIntervalCommand()
    public let changePlaybackPositionCommand = MPChangePlaybackPositionCommand()
    public let changePlaybackRateCommand = MPChangePlaybackRateCommand()

    @MainActor private static let center = MPRemoteCommandCenter()
    @MainActor open class func shared() -> MPRemoteCommandCenter { center }

    override package init() {}

    package var standInHandlerCount: Int {
      [
        playCommand, pauseCommand, togglePlayPauseCommand, nextTrackCommand, previousTrackCommand,
        skipForwardCommand, skipBackwardCommand, changePlaybackPositionCommand,
        changePlaybackRateCommand,
      ].reduce(0) { $0 + $1.standInHandlerCount }
    }
  }
#endif
