//! External functions.

use super::*;

/// The value, gradient and Hessian of `FUN( X, Y )` at (2, 3), by differentiation.
fn run(function: &str) -> Found {
    let part = "TEMPORARIES\n R  FUN\n F  FUN\nINDIVIDUALS\n T  T\n F                      FUN( X, Y )\nENDATA";
    evaluate(&compile_one(part, function, declaration_xy(), Derivatives::Automatic), &[2.0, 3.0], &[0.0])
}

#[test]
fn loops_and_arrays() {
    let found = run("
      DOUBLE PRECISION FUNCTION FUN( X, Y )
C  the sum of A(I) * X**I for A = 1, 2, 2, -1 and of Y
      INTEGER I, N
      PARAMETER ( N = 4 )
      DOUBLE PRECISION X, Y, A( N ), T( 0 : N )
      DATA A / 1.0D0, 2 * 2.0, -1.0 /
      T( 0 ) = 1.0
      DO 10 I = 1, N
   10    T( I ) = T( I - 1 ) * X
      FUN = Y
      DO 30, I = N, 1, - 1
         IF ( I .EQ. 3 ) GO TO 20
         FUN = FUN + A( I ) * T( I )
   20    CONTINUE
   30 CONTINUE
      RETURN
      END");
    // y + x + 2 x^2 - x^4: the third term is skipped
    assert_eq!(found, Found { value: -3.0, gradient: vec![-23.0, 1.0], hessian: vec![-44.0, 0.0, 0.0] });
}

#[test]
fn free_spelling_and_sections() {
    let found = run("
      function fun( x, y ) result( total )   ! a comment
      implicit none
      integer, parameter :: wp = KIND( 1.0D0 ), m = 3
      real (KIND = wp), intent( in ) :: x, y
      real (KIND = wp) :: total, a( m, 2 ), b( m ) = 1.0_wp
      integer :: i, j
      a( : , 1 ) = x ; a( : , 2 ) = y * b( 1 : m )
      total = 0.0_wp
      do j = 1, 2
        i = 0
        do while ( .true. )
          i = i + 1
          if ( i > m ) exit
          if ( i == 2 ) cycle
          total = total + a( i, j ) ** 2
        end do
      end do
      end function fun");
    // 2 x^2 + 2 y^2
    assert_eq!(found, Found { value: 26.0, gradient: vec![8.0, 12.0], hessian: vec![4.0, 0.0, 4.0] });
}

#[test]
fn subroutines_common_blocks_and_jumps() {
    let found = run("
      DOUBLE PRECISION FUNCTION FUN( X, Y )
      IMPLICIT REAL*8 ( A-H, O-Z )
      COMMON / STATE / COUNT, LAST( 2 )
      COUNT = 0
      Z = X
    5 CALL STEP( Z )
      GO TO ( 5, 6 ), LAST( 2 )
    6 FUN = Z * Y
      END
      SUBROUTINE STEP( Z )
      IMPLICIT REAL*8 ( A-H, O-Z )
      COMMON / STATE / COUNT, LAST( 2 )
      COUNT = COUNT + 1
      Z = Z * Z
      LAST( 2 ) = 2
      IF ( COUNT - 3 ) 1, 2, 2
    1 LAST( 2 ) = 1
    2 RETURN
      END");
    // x^8 y, after three squarings
    assert_eq!(found, Found { value: 768.0, gradient: vec![3072.0, 256.0], hessian: vec![10752.0, 1024.0, 0.0] });
}

#[test]
fn derivatives_that_a_function_leaves_in_arrays() {
    let part = "\
TEMPORARIES
 R  FUN
 F  FUN
 R  F
 R  G(2)
 R  H(2,2)
INDIVIDUALS
 T  T
 A  F                   FUN( X, Y, G,
 A+                          H )
 F                      F
 G  X                   G(1)
 G  Y                   G( 2 )
 H  X         X         H(1,1)
 H  X         Y         H(1,2)
ENDATA";
    let function = "
      DOUBLE PRECISION FUNCTION FUN( X, Y, G, H )
      DOUBLE PRECISION X, Y, G( * ), H( 2, 2 )
      FUN = X ** 2 * Y
      G( 1 ) = 2 * X * Y
      G( 2 ) = X ** 2
      H( 1, 1 ) = 2 * Y
      H( 1, 2 ) = 2 * X
      END";
    for derivatives in [Derivatives::Coded, Derivatives::Automatic] {
        let found = evaluate(&compile_one(part, function, declaration_xy(), derivatives), &[2.0, 3.0], &[0.0]);
        assert_eq!(found, Found { value: 12.0, gradient: vec![12.0, 4.0], hessian: vec![6.0, 4.0, 0.0] });
    }
}

/// The element with P = 0 computes X*Y and X+Y and gives the first; the one with P = 1 gives the second.
const SHARED: &str = "\
TEMPORARIES
 I  BOTH
 F  BOTH
 I  N
 R  FIRST
 R  SECOND
INDIVIDUALS
 T  T
 A  N                   BOTH( X, Y, FIRST, SECOND, P > 0.0 )
 F                      FIRST
 T  PLAIN
 F                      X * X
ENDATA";

const BOTH: &str = "
      INTEGER FUNCTION BOTH( X, Y, FIRST, SECOND, LATER )
      DOUBLE PRECISION X, Y, FIRST, SECOND
      LOGICAL LATER
      BOTH = 0
      IF ( LATER ) THEN
         FIRST = SECOND
      ELSE
         FIRST = X * Y
         SECOND = X + Y
      ENDIF
      END";

#[test]
fn elements_may_share_what_they_computed() {
    let types = [declaration_xy(), declaration("PLAIN", &["X", "Y"], &[], &["P"])];
    let compiled = compile(SHARED, BOTH, &types, Derivatives::Automatic).unwrap();
    let (shared, plain) = (&compiled[0], &compiled[1]);
    assert!(shared.carries_state() && !plain.carries_state());
    let mut scratch = vec![0.0; shared.scratch_len().max(plain.scratch_len())];
    let mut gradient = [0.0; 2];
    assert_eq!(shared.gradient(&[2.0, 3.0], &[0.0], &mut scratch, &mut gradient).unwrap(), 6.0);
    assert_eq!(gradient, [3.0, 2.0]);
    assert_eq!(shared.gradient(&[2.0, 3.0], &[1.0], &mut scratch, &mut gradient).unwrap(), 5.0);
    assert_eq!(gradient, [1.0, 1.0]);
    // Other types leave the shared values alone.
    assert_eq!(shared.value(&[4.0, 3.0], &[0.0], &mut scratch).unwrap(), 12.0);
    assert_eq!(plain.value(&[9.0, 0.0], &[0.0], &mut scratch).unwrap(), 81.0);
    assert_eq!(shared.value(&[4.0, 3.0], &[1.0], &mut scratch).unwrap(), 7.0);
}

#[test]
fn a_function_that_does_not_end_is_given_up() {
    let part = "TEMPORARIES\n F  FUN\nINDIVIDUALS\n T  T\n F                      FUN( X )\nENDATA";
    let failure = |function: &str| {
        let compiled = compile_one(part, function, declaration_xy(), Derivatives::Coded);
        let mut scratch = vec![0.0; compiled.scratch_len()];
        compiled.value(&[1.0, 2.0], &[0.0], &mut scratch).unwrap_err()
    };
    let endless = failure("      FUNCTION FUN( X )\n   10 GOTO 10\n      END");
    assert_eq!(endless.to_string(), "an external function did not come to an end");
    let outside = failure("      FUNCTION FUN( X )\n      REAL A( 3 )\n      I = X + 3\n      FUN = A( I )\n      END");
    assert_eq!(outside.to_string(), "line 4: an index lies outside of its array");
    let stopped = failure("      FUNCTION FUN( X )\n      STOP\n      END");
    assert_eq!(stopped.to_string(), "line 2: the external function stopped");
    assert!(!endless.is_broken() && !outside.is_broken() && !stopped.is_broken());
}
