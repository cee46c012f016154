// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation

  /// The video outputs of libmpv for a display, of which the first that works is used. None that
  /// draws without a display server. A pure value.
  struct MPVOutputs: Hashable {
    /// Values of the option `vo`, of which the first that libmpv accepts counts: builds lack some
    /// outputs.
    var lists = ["gpu,wlshm,x11", "gpu,x11", "gpu,wlshm", "gpu", "x11"]
    /// Values of the option `gpu-context`, of which the first that libmpv accepts counts: builds
    /// lack some contexts, and older versions accept only one. Empty: libmpv tries all of them.
    var contexts: [String] = []

    /// - Parameters:
    ///   - display: the display that was found; nil: none.
    ///   - hasGPU: whether pictures may be drawn by a GPU.
    init(
      on display: Display?,
      in environment: [String: String] = ProcessInfo.processInfo.environment,
      hasGPU: Bool = Self.hasGPU
    ) {
      guard display == .x11 else { return }
      lists = ["gpu,x11", "gpu", "x11"]
      guard Display.reportsMissingWayland(in: environment) else { return }
      // If no context is named, libmpv tries those of Wayland too, and its library then writes an
      // error to standard error. Named ones have a disadvantage: libmpv accepts them also if they
      // draw in software, which costs more than the output `x11`.
      contexts = ["x11egl,x11,x11vk", "x11egl,x11vk", "x11egl", "x11", "x11vk"]
      if !hasGPU { lists = ["x11", "gpu"] }
    }

    /// Whether there is a device that draws (DRM Userland Interfaces in the documentation of Linux,
    /// "Render nodes").
    static var hasGPU: Bool {
      ["/dev/dri/renderD128", "/dev/nvidiactl"].contains {
        FileManager.default.fileExists(atPath: $0)
      }
    }
  }
#endif
