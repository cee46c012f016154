// SPDX-License-Identifier: MIT
import Dispatch
import Foundation

#if canImport(AVFoundation)
  import AVFAudio
#else
  import AVFoundationStandIn
#endif

/// Whether the engine or the app manages the app's `AVAudioSession`. macOS has none.
public enum AudioSessionControl: Sendable, Hashable {
  /// The engine: it sets the category `.playback`, activates the session when playback begins, and
  /// deactivates it when the engine stops. It pauses and resumes as the system requests.
  case engine
  /// The app, for example one that records or mixes. The engine does not configure or activate the
  /// session: it notices when the system pauses AVPlayer, and does not resume. After a reset of the
  /// media services it stays paused, with a new player.
  case app
}

/// The system's audio session: activates it for playback, and reports interruptions.
@MainActor final class AudioSession {
  enum Change: Sendable, Hashable {
    /// A call came in, or another app plays.
    case interrupted
    case interruptionEnded(shouldResume: Bool)
    /// The headphones were unplugged: without a pause, everybody would hear the sound.
    case outputGone
    /// Every player of this process is invalid.
    case servicesReset
    /// The system does not allow playback, for example during a call.
    case refused
  }

  var onChange: (@MainActor @Sendable (Change) -> Void)?
  /// Whether this object configures and activates the session; otherwise it only observes it.
  let isControlled: Bool

  #if os(iOS) || os(tvOS) || os(visionOS) || !canImport(AVFoundation)
    /// Unchecked: `AVAudioSession` is not declared Sendable in every SDK, but may be used on any
    /// thread.
    private struct Session: @unchecked Sendable {
      let shared: AVAudioSession
    }

    private let session: Session
    /// Activation may block for longer than is acceptable on the main thread.
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

    /// Returns the app's session; nil on platforms that have none.
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

    /// Activates the session when playback begins.
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

    /// Deactivates the session, and lets other apps resume.
    func deactivate() {
      guard isControlled else { return }
      queue.async { [session] in
        // Fails, rightly, while another part of the app still plays.
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
