// SPDX-License-Identifier: MIT
import Dispatch
import Foundation

#if canImport(AVFoundation)
  import AVFAudio
#else
  import AVFoundationStandIn
#endif

/// Who looks after `AVAudioSession`, which an app has one of. A Mac has none.
public enum AudioSessionControl: Sendable, Hashable {
  /// The engine: it sets the category `.playback`, activates the session when playing begins, and
  /// deactivates it when the engine stops; it pauses and resumes as the system tells.
  case engine
  /// The app, which records, say, or mixes. The engine sets and activates nothing: it notices where
  /// the system pauses AVPlayer, and does not resume; after a reset of the media services it goes on
  /// paused, in another player.
  case app
}

/// The system's audio session: says that something plays, and is told when nothing may.
@MainActor final class AudioSession {
  enum Change: Sendable, Hashable {
    /// A call came in, or another app plays.
    case interrupted
    case interruptionEnded(shouldResume: Bool)
    /// The headphones were pulled out: what plays on would be heard by everybody.
    case outputGone
    /// Every player of this process is void.
    case servicesReset
    /// The system does not let it play: during a call, say.
    case refused
  }

  var onChange: (@MainActor @Sendable (Change) -> Void)?
  /// Whether it sets the category and activates; else it only listens.
  let isControlled: Bool

  #if os(iOS) || os(tvOS) || os(visionOS) || !canImport(AVFoundation)
    /// Unchecked, for it is not declared Sendable in every SDK; it may be used on any thread.
    private struct Session: @unchecked Sendable {
      let shared: AVAudioSession
    }

    private let session: Session
    /// Activating takes its time, which the main thread has not.
    private let queue = DispatchQueue(label: "refrain.audio-session", qos: .userInitiated)
    private let notifications = NotificationObservers()

    init(_ session: AVAudioSession, _ control: AudioSessionControl = .engine) {
      self.session = Session(shared: session)
      isControlled = control == .engine
      notifications.add(AVAudioSession.interruptionNotification, of: session) {
        [weak self] notification in
        let change = Self.interruption(notification)
        onMainThread { if let change { self?.onChange?(change) } }
      }
      notifications.add(AVAudioSession.routeChangeNotification, of: session) {
        [weak self] notification in
        let reason = notification.userInfo?[AVAudioSessionRouteChangeReasonKey] as? UInt
        guard reason == AVAudioSession.RouteChangeReason.oldDeviceUnavailable.rawValue else {
          return
        }
        onMainThread { self?.onChange?(.outputGone) }
      }
      notifications.add(AVAudioSession.mediaServicesWereResetNotification, of: session) {
        [weak self] _ in onMainThread { self?.onChange?(.servicesReset) }
      }
    }

    /// The app's session, where there is one.
    static func ofApp(_ control: AudioSessionControl) -> AudioSession? {
      AudioSession(.sharedInstance(), control)
    }

    private nonisolated static func interruption(_ notification: Notification) -> Change? {
      let type = notification.userInfo?[AVAudioSessionInterruptionTypeKey] as? UInt
      switch type.flatMap(AVAudioSession.InterruptionType.init(rawValue:)) {
      case .began: return .interrupted
      case .ended:
        let options = notification.userInfo?[AVAudioSessionInterruptionOptionKey] as? UInt ?? 0
        return .interruptionEnded(
          shouldResume: AVAudioSession.InterruptionOptions(rawValue: options)
            .contains(.shouldResume))
      default: return nil
      }
    }

    /// Something plays from here on.
    func activate() {
      guard isControlled else { return }
      queue.async { [session, weak self] in
        do {
          try session.shared.setCategory(.playback, mode: .default)
          try session.shared.setActive(true)
        } catch {
          onMainThread { self?.onChange?(.refused) }
        }
      }
    }

    /// Nothing plays any more: other apps may go on.
    func deactivate() {
      guard isControlled else { return }
      queue.async { [session] in
        // It fails where somebody else of this app still plays, and is right to.
        try? session.shared.setActive(false, options: .notifyOthersOnDeactivation)
      }
    }
  #else
    static func ofApp(_ control: AudioSessionControl) -> AudioSession? { nil }

    private init() { isControlled = false }

    func activate() {}

    func deactivate() {}
  #endif
}
