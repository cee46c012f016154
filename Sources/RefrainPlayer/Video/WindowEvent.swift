// SPDX-License-Identifier: MIT

/// An event of a player's own window (`VideoConfiguration.Output.window`).
public enum WindowEvent: Sendable, Hashable {
  /// A key was pressed, by libmpv's name for it (mpv(1), `--input-keylist`): `n`, `SPACE`, `LEFT`,
  /// `Shift+RIGHT`, `SHARP`, `WHEEL_UP`. The player itself reacts to no key but Escape and a double
  /// click, which change fullscreen.
  case key(String)
  /// The window was closed, or is to be. Playback continues: hide the video
  /// (`Player.showsVideo`), or close the player. Where a Wayland compositor draws no title bar, the
  /// controller has a button that closes, which ends libmpv: there, close the player.
  case closeRequested
}

/// A request that a listener made by the controller in the window. The player fulfils it.
public enum ListenerRequest: Sendable, Hashable {
  case pause, resume, next
  case volume(Double)
  case mute(Bool)
  /// The engine has selected the track already; nil: none of the kind.
  case select(MediaTrack.ID?, MediaTrack.Kind)
}
